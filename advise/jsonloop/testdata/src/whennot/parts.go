package whennot

import "encoding/json"

type entry struct{ ID string }

var entries = map[string][]byte{}

// One caller keeps it.
func (r entry) text() []byte {
	b, _ := json.Marshal(r)
	return b
}

func (r entry) size() int { return len(r.text()) }

func (r entry) store() { entries[r.ID] = r.text() }

// Others may call it.
func (r entry) Text() []byte {
	b, _ := json.Marshal(r)
	return b
}
