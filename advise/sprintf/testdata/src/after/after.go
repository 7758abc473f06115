package after

import (
	"io"
	"strconv"
)

func appendPrefix(dst []byte, level string, ts int64) []byte {
	dst = append(dst, '[')
	dst = append(dst, level...)
	dst = append(dst, ']', ' ')
	dst = strconv.AppendInt(dst, ts, 10)
	dst = append(dst, ' ')
	return dst
}

func writeLog(w io.Writer, buf *[]byte, lvl string, ts int64, msg string) {
	*buf = (*buf)[:0]
	*buf = appendPrefix(*buf, lvl, ts)
	*buf = append(*buf, msg...)
	w.Write(*buf)
}
