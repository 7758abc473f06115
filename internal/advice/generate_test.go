package advice

import (
	"go/format"
	"path/filepath"
	"strings"
	"testing"
)

// TestRepeatable: which tests can be made benchmarks, and that what is made of
// them is Go.
func TestRepeatable(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a_test.go"), []byte(`package m

import (
	"testing"

	other "testing"
)

func TestPlain(t *testing.T) {
	if f() != 1 {
		t.Fatal("not 1") // a comment
	}
}

func TestOther(tt *other.T) { _ = f(); return }

func Test(t *testing.T) {}

func TestSub(t *testing.T) { t.Run("x", func(t *testing.T) {}) }

func TestParallel(t *testing.T) { t.Parallel() }

func TestDeep(t *testing.T) {
	if f() == 2 {
		func() { t.Skip("not here") }()
	}
}

func TestCleanup(t *testing.T) { t.Cleanup(func() {}) }

func Testing(t *testing.T) {}

func TestMain(m *testing.M) {}

func TestTwo(t *testing.T, n int) {}

func TestUnnamed(*testing.T) {}

func TestBlank(_ *testing.T) {}

func TestGeneric[T any](t *testing.T) {}

func (m M) TestMethod(t *testing.T) {}

func BenchmarkX(b *testing.B) {}
`))
	put(t, filepath.Join(dir, "broken_test.go"), []byte("package m\n\nfunc TestBroken(t *testing.T {}\n"))
	tests := repeatable(&testPackage{Dir: dir, TestGoFiles: []string{"a_test.go", "broken_test.go", "gone_test.go"}})
	var names []string
	for _, x := range tests {
		names = append(names, x.name)
		text := "package m\n" + x.benchmark()
		if _, err := format.Source([]byte(text)); err != nil {
			t.Errorf("%s: %v\n%s", x.name, err, text)
		}
		if got := fromTest(generatedPrefix + x.name); got != x.name {
			t.Errorf("fromTest of %s: %q", x.name, got)
		}
	}
	if got, want := strings.Join(names, " "), "TestPlain TestOther Test"; got != want {
		t.Errorf("repeatable: %s, want %s", got, want)
	}
	text := tests[1].benchmark()
	for _, want := range []string{"func BenchmarkFromTestOther(benchmark *other.B) {", "\ttt := benchmark\n", "for benchmark.Loop() {", "func() { _ = f(); return }()"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s: want %q in it", text, want)
		}
	}
	for _, name := range []string{"BenchmarkCount", "BenchmarkFromage", "BenchmarkFrom", "TestPlain"} {
		if got := fromTest(name); got != "" {
			t.Errorf("fromTest(%q) = %q", name, got)
		}
	}
}
