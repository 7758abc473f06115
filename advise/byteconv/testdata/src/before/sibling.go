package before

import "regexp"

func Matches(r *regexp.Regexp, lines []string) (n int) {
	for _, line := range lines {
		if r.Match([]byte(line)) { // want `MatchString takes the string itself`
			n++
		}
	}
	return n
}
