package before

import (
	"regexp"
	"strings"
)

var wordPattern = "[a-z]+"

func letters() string { return "a-z" }

func isWord(s string) bool {
	return regexp.MustCompile("^[" + letters() + "]$").MatchString(s) // want `compiles the same patterns again`
}

func escape(s string) string {
	if ok, _ := regexp.MatchString(wordPattern, s); ok { // want `compiles the same patterns again`
		return s
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(s) // want `prepares the same replacements in each call`
}
