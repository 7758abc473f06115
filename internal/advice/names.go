package advice

import (
	"net/url"
	"path"
	"regexp"
	"strings"
)

// A profile names a function by its import path, in whose last element dots are escaped,
// its receiver and its type arguments: [...], or in full where it was inlined.

// untyped is a function's name without type arguments.
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

// packageOf is the import path of a function's package.
func packageOf(function string) string {
	dir, name := path.Split(untyped(function))
	name, _, _ = strings.Cut(name, ".")
	if unescaped, err := url.PathUnescape(name); err == nil {
		name = unescaped
	}
	return dir + name
}

// lastName is a function's name without its package and receiver.
func lastName(function string) string {
	function = untyped(function)
	return function[strings.LastIndexByte(function, '.')+1:]
}

// majorVersion is the last element of an import path that is not a package's name.
var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// shortName is a function's name as people write it: pkg.Type.Method.
func shortName(function string) string {
	function = untyped(function)
	name := path.Base(function)
	if version, rest, ok := strings.Cut(name, "."); ok && majorVersion.MatchString(version) {
		name = path.Base(path.Dir(function)) + "." + rest
	}
	return strings.NewReplacer("(*", "", ")", "", "...", "").Replace(name)
}
