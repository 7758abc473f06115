package whennot

import "bytes"

func tiny(b byte) []byte {
	var buf bytes.Buffer
	buf.WriteString("value ")
	buf.WriteByte(b)
	return buf.Bytes()
}

func small() string {
	var buf bytes.Buffer
	buf.Grow(32)
	return buf.String()
}

type response struct{ body *bytes.Buffer }

func stored(s string) response {
	buf := new(bytes.Buffer)
	buf.WriteString(s)
	return response{buf}
}

var banner = func() string {
	var buf bytes.Buffer
	buf.WriteString(small())
	return buf.String()
}()
