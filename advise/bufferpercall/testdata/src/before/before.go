package before

import (
	"bytes"
	"encoding/binary"
)

type Event struct {
	ID   int64
	Name string
	Tags []string
}

// The document's code.
func (e *Event) MarshalBinary() ([]byte, error) {
	var buf bytes.Buffer // want `take the buffer from a pool`
	binary.Write(&buf, binary.LittleEndian, e.ID)
	buf.WriteString(e.Name)
	for _, t := range e.Tags {
		buf.WriteString(t)
	}
	return buf.Bytes(), nil
}

func (e *Event) String() string {
	buf := new(bytes.Buffer) // want `bytes.Buffer for each call`
	buf.WriteString(e.Name)
	return buf.String()
}
