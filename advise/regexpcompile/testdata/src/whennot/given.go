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

// What is assigned later takes the place of what the callers gave, made of it or not.
func trimmed(pattern, s string) bool {
	pattern = pattern[1:]
	return regexp.MustCompile(pattern).MatchString(s)
}

func orAny(pattern, s string) bool {
	if pattern == "" {
		pattern = ".*"
	}
	return regexp.MustCompile(pattern).MatchString(s)
}
