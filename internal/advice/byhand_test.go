package advice

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestChangedLines(t *testing.T) {
	const old = "package p\n\nfunc f() {\n\ta()\n\tb()\n}\n\nfunc g() {\n\tc()\n}\n\nfunc k() {\n\td()\n\t// Why.\n\te()\n}\n"
	for _, tt := range []struct {
		name, text string
		want       []int
	}{
		{"nothing", old, nil},
		{"one line", strings.Replace(old, "b()", "B()", 1), []int{5}},
		{"one becomes two", strings.Replace(old, "\tb()", "\tB()\n\tB()", 1), []int{5}},
		{"put between", strings.Replace(old, "\tb()", "\tB()\n\tb()", 1), []int{4, 5}},
		{"taken out", strings.Replace(old, "\tc()\n", "", 1), []int{9}},
		{"a new declaration changes none", strings.Replace(old, "\nfunc g", "\nvar x int\n\nfunc g", 1), nil},
		{"nor does a new function", strings.Replace(old, "\nfunc g", "\nfunc h() {\n\td()\n}\n\nfunc g", 1), nil},
		{"code for a comment", strings.Replace(old, "// Why.", "y()", 1), []int{14, 15}},
		{"two places", strings.NewReplacer("a()", "A()", "c()", "C()").Replace(old), []int{4, 9}},
	} {
		if got := changedLines([]byte(old), []byte(tt.text)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestFailedHunk(t *testing.T) {
	p := &diffFile{text: []byte("--- a/x/a.go\n+++ b/x/a.go\n@@ -1,2 +1,2 @@\n--- a/x/b.go\n+++ b/x/b.go\n@@ -1,2 +1,2 @@\n@@ -9,2 +9,2 @@ func F\n")}
	for _, tt := range []struct{ git, want string }{
		{"error: patch failed: b.go:9\nerror: b.go: patch does not apply", "hunk 2 of b.go does not apply: @@ -9,2 +9,2 @@ func F; "},
		{"error: patch failed: x/b.go:1", "hunk 1 of x/b.go does not apply: @@ -1,2"},
		{"error: patch failed: b.go:77", "b.go:77: a hunk does not apply"},
		{"error: c.go: No such file or directory", "error: c.go: No such file or directory; make it again"},
	} {
		if got := p.failed(errors.New(tt.git)).Error(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.git, got, tt.want)
		}
	}
}
