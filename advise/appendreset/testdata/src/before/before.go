package before

import (
	"io"
	"strconv"
	"strings"
)

func AppendTokens(dst []string, s string) []string {
	return append(dst, strings.Fields(s)...)
}

var words int

func analyze(tokens []string) { words += len(tokens) }

func processLogs(lines []string) {
	tokens := make([]string, 0, 16)
	for _, l := range lines {
		tokens = AppendTokens(tokens, l) // want `pass tokens\[:0\]`
		analyze(tokens)
	}
}

func numbers(w io.Writer, list []int) {
	var buf []byte
	for _, n := range list {
		buf = strconv.AppendInt(buf, int64(n), 10) // want `still holds the results of the rounds before`
		w.Write(buf)
	}
}
