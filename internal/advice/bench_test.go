package advice

import (
	"path/filepath"
	"strings"
	"testing"
)

// A profile that tests have broken is left out, and said to be.
func TestProfileLeavesOutBroken(t *testing.T) {
	dir := tree(t, map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"m.go":   "package m\n\nfunc F() []int { return make([]int, 99) }\n",
		"m_test.go": `package m

import (
	"os"
	"testing"
)

var list []int

func BenchmarkF(b *testing.B) {
	for b.Loop() {
		list = F()
	}
}

func TestMain(m *testing.M) {
	if code := m.Run(); code != 0 {
		os.Exit(code)
	}
	os.Exit(m.Run())
}
`,
	})
	var said []string
	names, err := Profile(t.Context(), Config{Dir: dir, Patterns: []string{"."}}, ".", t.TempDir(), func(s string) { said = append(said, s) })
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != 1 || filepath.Base(names[0]) != "0.allocs.pb.gz" {
		t.Errorf("profiles %v, want the allocations alone", names)
	}
	if len(said) != 2 || !strings.Contains(said[1], "left out") {
		t.Errorf("said %q, want that the other one is left out", said)
	}
}
