package before

import "regexp"

// The document's code.
func isValidSlug(s string) bool {
	re := regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`) // want `compiles the same pattern in each call`
	return re.MatchString(s)
}

const digits = `\d+`

// Count counts.
func Count(list []string) (n int, err error) {
	local := "x"
	for _, s := range list {
		if regexp.MustCompile(digits).MatchString(s + local) { // want `regexp.MustCompile compiles`
			n++
		}
	}
	re, err := regexp.Compile("[a-z]+") // want `regexp.Compile compiles`
	if err != nil {
		return 0, err
	}
	return n + len(re.FindAllString(local, -1)), nil
}

func invalid(s string) bool {
	return regexp.MustCompile("(").MatchString(s) // want `compiles`
}
