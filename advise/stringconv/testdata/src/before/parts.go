package before

import "strings"

func version(product []byte) (string, string) {
	parts := strings.SplitN(string(product), "/", 2) // want `let bytes.SplitN cut the slice, and convert what is kept`
	if len(parts) == 2 {
		return parts[0], parts[1]
	}
	return "", ""
}

type words struct{ last []string }

func (w *words) add(line []byte) {
	for _, word := range strings.Fields(string(line)) { // want `let bytes.Fields cut the slice, and convert what is kept`
		if len(word) > 3 {
			w.last = append(w.last, word)
		}
	}
}
