package before

import (
	"encoding/json"
	"io"
)

func one(w io.Writer, v any) error {
	b, err := json.Marshal(v) // want `allocates a result that is only written`
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

func text(v any) (string, error) { // which is kept
	b, err := json.Marshal(v)
	return string(b), err
}

func received(r io.Reader, v any) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}
