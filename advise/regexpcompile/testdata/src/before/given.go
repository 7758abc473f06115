package before

import "regexp"

// The list is the same in each call.
func anyKind(s string) bool {
	kinds := []string{"^a+$", "^b+$"}
	for _, kind := range kinds {
		if ok, _ := regexp.MatchString(kind, s); ok { // want `hold them compiled`
			return true
		}
	}
	return startsWith("x", s) || startsWith("y", s)
}

// All callers give constants.
func startsWith(prefix, s string) bool {
	return regexp.MustCompile("^" + prefix).MatchString(s) // want `compiles the same patterns again`
}

func local(s string) bool {
	pattern := `\s+`
	return regexp.MustCompile(pattern).MatchString(s) // want `compiles the same patterns again`
}
