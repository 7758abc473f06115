package before

import (
	"bytes"
	"encoding/json"
	"io"
)

type titled struct{ title string }

// Who asks for bytes may well want to read them only.
func (t *titled) Title() []byte {
	return []byte(t.title)
}

func handedOn(w io.Writer, s string) {
	b := []byte(s)
	w.Write(b)
	io.WriteString(w, "constant")
}

func decoded(s string, v any) error {
	return json.Unmarshal([]byte(s), v) // want `decode from a strings.Reader`
}

func reader(s string) io.Reader {
	return bytes.NewReader([]byte(s)) // want `strings.NewReader reads the string itself`
}

func each(s string, f func([]byte)) {
	f([]byte(s)) // want `for a function value`
}

func lines(name string, fd io.Reader) io.Reader {
	return io.MultiReader(bytes.NewBufferString(name), fd)
}
