package before

import (
	"encoding/json"
	"io"
)

type Msg struct{ N int }

// The document's code.
func send(w io.Writer, msgs []Msg) error {
	for _, m := range msgs {
		b, err := json.Marshal(m) // want `a json.Encoder made before the loop`
		if err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		w.Write([]byte{'\n'})
	}
	return nil
}
