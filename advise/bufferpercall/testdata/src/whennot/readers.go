package whennot

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// A request costs more; the reader that stays is reset.
func post(url string, b []byte) (*http.Request, error) {
	return http.NewRequest("POST", url, bytes.NewReader(b))
}

type decoder struct {
	r   bytes.Reader
	dec *json.Decoder
}

func (d *decoder) reset(b []byte) { d.r.Reset(b) }

func newDecoder(b []byte) *decoder {
	d := &decoder{}
	d.r.Reset(b)
	d.dec = json.NewDecoder(&d.r)
	return d
}

func first(b []byte) byte {
	r := bytes.NewReader(b) // stays here
	c, _ := r.ReadByte()
	return c
}
