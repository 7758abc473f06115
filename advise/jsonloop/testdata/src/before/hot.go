package before

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

type client struct {
	conn io.ReadWriter
	post func(io.Reader)
}

func (c *client) call(v any) error {
	b, err := json.Marshal(v) // want `json.Marshal allocates a result for each message, and walks`
	if err != nil {
		return err
	}
	c.post(bytes.NewReader(b))
	return json.NewDecoder(c.conn).Decode(v) // want `make it once, and keep it beside c.conn`
}

func (c *client) notify(v any) error {
	var buf bytes.Buffer
	if err := json.NewEncoder(&buf).Encode(v); err != nil { // want `the encoder and its buffer are allocated for each message`
		return err
	}
	c.post(&buf)
	return nil
}

func encode(m Msg) ([]byte, error) {
	return json.Marshal(m) // want `json.Marshal allocates a result for each message, and walks`
}

func handle(w http.ResponseWriter, r *http.Request) {
	b, _ := encode(Msg{1})
	w.Write(b)
	var m Msg
	json.Unmarshal([]byte(r.Form.Get("m")), &m)                        // want `json.Unmarshal goes over each message twice`
	json.NewDecoder(strings.NewReader(r.Form.Get("other"))).Decode(&m) // want `a json.Decoder copies the bytes`
}

type list struct{ items []Msg }

func (l list) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(l.items) // want `the result of json.Marshal in MarshalJSON is checked and copied again`
	if err != nil {
		return nil, err
	}
	return b, nil
}
