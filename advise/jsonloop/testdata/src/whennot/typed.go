package whennot

import "encoding/json"

type event struct {
	Name string
	Tags map[string]string
}

// The target says what is wanted; what is appended to is another slice.
func decode(b []byte) (e event, err error) {
	var tags map[string]string
	if err = json.Unmarshal(b, &tags); err != nil {
		err = json.Unmarshal(b, &e)
	}
	return e, err
}

var journal []byte

func record(dst []byte, e event) ([]byte, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return dst, err
	}
	journal = b
	return append(dst, b...), nil
}
