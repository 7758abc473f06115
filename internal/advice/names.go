package advice

import (
	"net/url"
	"path"
	"regexp"
	"strings"
)

// A profile names a function by import path, with dots escaped in the last element,
// receiver and type arguments: [...], or in full if it was inlined.

// untyped returns a function's name without type arguments.
func untyped(function string) string {
	depth := 0
	return strings.Map(func(r rune) rune {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
			return -1
		}
		if depth > 0 {
			return -1
		}
		return r
	}, function)
}

// packageOf returns the import path of a function's package.
func packageOf(function string) string {
	dir, name := path.Split(untyped(function))
	name, _, _ = strings.Cut(name, ".")
	if unescaped, err := url.PathUnescape(name); err == nil {
		name = unescaped
	}
	return dir + name
}

// lastName returns a function's name without package and receiver.
func lastName(function string) string {
	function = untyped(function)
	return function[strings.LastIndexByte(function, '.')+1:]
}

// majorVersion matches the last element of an import path if that is no package name.
var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// shortName returns a function's name as people write it: pkg.Type.Method.
func shortName(function string) string {
	function = untyped(function)
	name := path.Base(function)
	if version, rest, ok := strings.Cut(name, "."); ok && majorVersion.MatchString(version) {
		name = path.Base(path.Dir(function)) + "." + rest
	}
	return strings.NewReplacer("(*", "", ")", "", "...", "").Replace(name)
}
