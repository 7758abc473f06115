package before

import (
	"bytes"
	"encoding/json"
	"io"
)

func publish(f func([]byte), values []any, texts [][]byte, w io.Writer) {
	for _, v := range values {
		b, err := json.Marshal(v) // want `allocates a result for each message, and walks`
		if err == nil {
			f(b)
		}
		json.NewEncoder(w).Encode(v) // want `json.NewEncoder allocates for each message`
	}
	for i, b := range texts {
		json.Unmarshal(b, &values[i])                          // want `json.Unmarshal goes over each message twice`
		json.NewDecoder(bytes.NewReader(b)).Decode(&values[i]) // want `a json.Decoder copies the bytes`
	}
}

type words []string

func (w words) MarshalJSON() ([]byte, error) {
	return json.Marshal([]string(w)) // want `the result of json.Marshal in MarshalJSON is checked and copied again`
}
