package before

import (
	"bytes"
	"encoding/json"
	"io"
)

func publish(f func([]byte), values []any, texts [][]byte, w io.Writer, counts []int) {
	for _, v := range values {
		b, err := json.Marshal(v) // want `allocates a result for each message, and walks`
		if err == nil {
			f(b)
		}
		json.NewEncoder(w).Encode(v) // want `json.NewEncoder allocates for each message`
	}
	for i, b := range texts {
		json.Unmarshal(b, &counts[i])                          // want `json.Unmarshal goes over each message twice`
		json.NewDecoder(bytes.NewReader(b)).Decode(&values[i]) // want `a json.Decoder copies the bytes`
	}
}

type words []string

func (w words) MarshalJSON() ([]byte, error) {
	return json.Marshal([]string(w)) // want `the result of json.Marshal in MarshalJSON is checked and copied again`
}

func line(v any) ([]byte, error) {
	b, err := json.Marshal(v) // want `the result of json.Marshal is copied to be added to`
	return append(b, '\n'), err
}

func fields(b []byte) (m map[string]any, x any, err error) {
	err = json.Unmarshal(b, &m) // want `json.Unmarshal allocates each key and value of an untyped target`
	if err == nil {
		err = json.Unmarshal(b, &x) // want `an untyped target`
	}
	return m, x, err
}
