package whennot

import "regexp"

func either(s, word string) bool { return contains("a", s) || contains(word, s) }

// One caller has a pattern of its own.
func contains(pattern, s string) bool { return regexp.MustCompile(pattern).MatchString(s) }

func grownPattern(list []string, s string) bool {
	pattern := "^"
	for _, p := range list {
		pattern += p
	}
	return regexp.MustCompile(pattern).MatchString(s)
}
