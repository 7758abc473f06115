package whennot

import (
	"io"
	"strconv"
)

func collected(w io.Writer, list []int) {
	var buf []byte
	for _, n := range list {
		buf = strconv.AppendInt(buf, int64(n), 10)
		buf = append(buf, ' ')
	}
	w.Write(buf)
}

func flushed(w io.Writer, list []int) {
	var buf []byte
	for _, n := range list {
		buf = strconv.AppendInt(buf, int64(n), 10)
		if len(buf) > 1000 {
			w.Write(buf)
			buf = buf[:0]
		}
	}
	for _, n := range list {
		buf = buf[:0]
		buf = strconv.AppendInt(buf, int64(n), 10)
		w.Write(buf)
	}
	for _, n := range list {
		var own []byte
		own = strconv.AppendInt(own, int64(n), 10)
		w.Write(own)
	}
}
