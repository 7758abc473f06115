package before

import (
	"regexp"
	"unicode/utf8"
)

func matches(lines [][]byte, re *regexp.Regexp) (n int) {
	for _, l := range lines {
		if re.MatchString(string(l)) { // want `MatchString; Match reads the slice`
			n += utf8.RuneCountInString(string(l)) // want `RuneCount reads the slice`
		}
	}
	return n
}
