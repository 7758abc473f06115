package whennot

import (
	"encoding/json"
	"io"
)

func returned(w io.Writer, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func both(r io.Reader, v any) ([]byte, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return b, json.Unmarshal(b, v) // b is asked for as well
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
