package advice

import (
	"strings"
	"testing"
)

func TestChanged(t *testing.T) {
	const old = "package p\n\nfunc f() {\n\ta()\n\tb()\n}\n\nfunc (t *T[K]) g() {\n\tc()\n}\n\nfunc k() {\n\td()\n\t// Why.\n\te()\n}\n"
	for _, tt := range []struct {
		name, text, want string
		line             int
	}{
		{"one line", strings.Replace(old, "b()", "B()", 1), "f", 5},
		{"one becomes two", strings.Replace(old, "\tb()", "\tB()\n\tB()", 1), "f", 5},
		{"put between", strings.Replace(old, "\tb()", "\tB()\n\tb()", 1), "f", 5},
		{"taken out", strings.Replace(old, "\tc()\n", "", 1), "T.g", 9},
		{"a new declaration changes none", strings.Replace(old, "\nfunc k", "\nvar x int\n\nfunc k", 1), "", 12},
		{"nor does a new function", strings.Replace(old, "\nfunc k", "\nfunc h() {\n\td()\n}\n\nfunc k", 1), "", 12},
		{"a function goes", strings.Replace(old, "func f() {\n\ta()\n\tb()\n}\n", "", 1), "f", 3},
		{"code for a comment", strings.Replace(old, "// Why.", "y()", 1), "k", 14},
		{"two places, and lines before", strings.NewReplacer("a()", "A()", "c()", "C()", "p\n\n", "p\n").Replace(old), "f T.g", 4},
	} {
		names, line := changed([]byte(old), []byte(tt.text))
		if got := strings.Join(names, " "); got != tt.want || line != tt.line {
			t.Errorf("%s: %q at line %d, want %q at %d", tt.name, got, line, tt.want, tt.line)
		}
	}
}
