package whennot

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

type client struct {
	enc *json.Encoder
	raw []byte
}

func newClient(w io.Writer) *client { return &client{enc: json.NewEncoder(w)} }

type conn struct{ w io.Writer }

// What is kept is made once.
func (c *conn) encoder() *json.Encoder {
	enc := json.NewEncoder(c.w)
	return enc
}

func (c *client) keep(v any) (err error) {
	c.raw, err = json.Marshal(v)
	return err
}

func handle(w http.ResponseWriter, r *http.Request) {
	json.NewEncoder(w).Encode(r.URL.Path)
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func pooled(w io.Writer, v any) {
	buf := buffers.Get().(*bytes.Buffer)
	buf.Reset()
	json.NewEncoder(buf).Encode(v)
	w.Write(buf.Bytes())
	buffers.Put(buf)
}

func once(b []byte) (v struct{ N int }, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}
