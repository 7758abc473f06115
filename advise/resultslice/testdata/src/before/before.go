package before

import "strings"

var words int

func analyze(tokens []string) {
	words += len(tokens)
}

// The document's code.
func Tokenize(s string) []string {
	var out []string
	for _, f := range strings.Fields(s) {
		out = append(out, f)
	}
	return out
}

func processLogs(lines []string) {
	for _, l := range lines {
		tokens := Tokenize(l) // want `Tokenize allocates a slice that is done with at the end of the round`
		analyze(tokens)
	}
}
