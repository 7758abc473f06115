package whennot

import "strings"

func three(a, b, c string) string { return a + b + c }

func lines(words []string, n int) (out []string) {
	line := ""
	for _, w := range words {
		out = append(out, line)
		line = ""
		line += w
	}
	for _, w := range words {
		s := w + "!"
		s += "?"
		out = append(out, s)
	}
	return append(out, line)
}

func threeSteps(a string) string {
	s := a
	s += a
	s += a
	return s + a
}

func few(sep string) string {
	s := ""
	for i := 0; i < 4; i++ {
		s += sep
	}
	for _, x := range []string{"a", "b"} {
		s += x
	}
	return s
}

func first(words []string) string {
	s := "none"
	for _, w := range words {
		if strings.HasPrefix(w, "x") {
			s += w
			return s
		}
	}
	return s
}

var version = "1"

func init() {
	s := ""
	for _, w := range strings.Fields("a b c") {
		s += w
	}
	version += s
}
