package before

import (
	"encoding/base64"
	"encoding/json"
)

type signature struct {
	header, protected any
}

type signatureParts struct {
	Header    json.RawMessage
	Protected string
}

// The parts are marshalled twice.
func (s signature) MarshalJSON() ([]byte, error) {
	var parts signatureParts
	header, err := json.Marshal(s.header) // want `allocates a result for each message, and walks`
	if err != nil {
		return nil, err
	}
	parts.Header = header
	return json.Marshal(parts) // want `the result of json.Marshal in MarshalJSON is checked and copied again`
}

type payload struct{ ID string }

// Returned only to be read.
func (p payload) text() []byte {
	b, _ := json.Marshal(p) // want `allocates a result for each message, and walks`
	return b
}

func (p payload) String() string { return string(p.text()) }

func (p payload) Safe() string {
	t := p.text()
	return base64.StdEncoding.EncodeToString(t)
}
