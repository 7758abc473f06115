package whennot

import "strings"

func split(s string) []string {
	var out []string
	for f := range strings.FieldsSeq(s) {
		out = append(out, f)
	}
	return out
}

func stored(lines []string) (all [][]string) {
	for _, l := range lines {
		tokens := split(l)
		all = append(all, tokens)
	}
	return all
}

func sent(lines []string, ch chan []string) {
	for _, l := range lines {
		tokens := split(l)
		ch <- tokens
	}
}

func once(line string) int {
	tokens := split(line)
	return len(tokens)
}

func found(lines []string) []string {
	for _, l := range lines {
		tokens := split(l)
		if len(tokens) > 3 {
			return tokens
		}
	}
	return nil
}

func cut(s []string) []string { return s[1:] }

func shared(lists [][]string) (n int) {
	for _, l := range lists {
		rest := cut(l)
		n += len(rest)
	}
	return n
}
