package whennot

import (
	"bytes"
	"encoding/json"
	"strings"
)

// json.Unmarshal has no such options, and takes one value.
func exact(texts [][]byte) (all []map[string]json.Number, err error) {
	for _, b := range texts {
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		var m map[string]json.Number
		if err := d.Decode(&m); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func pairs(text string) (first, second int, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&first); err != nil {
		return 0, 0, err
	}
	return first, second, d.Decode(&second)
}
