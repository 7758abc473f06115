package before

import "regexp"

type rule struct {
	pattern  string
	patterns []string
}

// The patterns are the same in each call: they could be held compiled.
func (r *rule) matches(s string) (n int) {
	if regexp.MustCompile(r.pattern).MatchString(s) { // want `hold the compiled one beside the text`
		n++
	}
	for _, p := range r.patterns {
		if ok, _ := regexp.MatchString(p, s); ok { // want `hold them compiled`
			n++
		}
	}
	if ok, _ := regexp.MatchString("^a+$", s); ok { // want `compiles the same pattern in each call`
		n++
	}
	return n
}

func quoted(s string) bool {
	re, _ := regexp.Compile(`^'[^']*'$`) // want `regexp.Compile compiles the same pattern in each call`
	if re.MatchString(s) {
		return true
	}
	re, _ = regexp.Compile(`^"[^"]*"$`) // want `regexp.Compile compiles the same pattern in each call`
	return re.MatchString(s)
}

var isHex = func(s string) bool {
	return regexp.MustCompile("^[0-9a-f]+$").MatchString(s) // want `compiles the same pattern in each call`
}
