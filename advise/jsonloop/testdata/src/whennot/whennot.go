package whennot

import (
	"encoding/json"
	"io"
)

func one(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

func kept(values []any) (out [][]byte, err error) {
	for _, v := range values {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func apart(open func() io.WriteCloser, values []any) error {
	for _, v := range values {
		w := open()
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		w.Write(b)
		w.Close()
	}
	return nil
}
