package before

import (
	"regexp"
	"strings"
)

var wordPattern = "[a-z]+"

func escape(s string) string {
	if ok, _ := regexp.MatchString(wordPattern, s); ok { // want `compiles the same patterns again`
		return s
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(s) // want `prepares the same replacements in each call`
}
