package after

import "strings"

var words int

func analyze(tokens []string) {
	words += len(tokens)
}

func AppendTokens(dst []string, s string) []string {
	return append(dst, strings.Fields(s)...)
}

func processLogs(lines []string) {
	tokens := make([]string, 0, 16) // one allocation
	for _, l := range lines {
		tokens = AppendTokens(tokens[:0], l)
		analyze(tokens)
	}
}
