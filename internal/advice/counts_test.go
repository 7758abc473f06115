package advice

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise"
)

// growing allocates; its comments say how often a call makes each.
const growing = `package m

import "strings"

func Most(numbers []int) []int {
	var most []int
	for _, n := range numbers {
		if n == 0 {
			continue
		}
		most = append(most, n) // 9
	}
	return most
}

func Fields(text string) (fields []string) {
	for {
		field, rest, found := strings.Cut(text, ",")
		fields = append(fields, field) // 5.5
		if !found {
			return fields
		}
		text = rest
	}
}

func Flat(rows [][]int) []int {
	var flat []int
	for _, row := range rows {
		for _, n := range row {
			flat = append(flat, n) // 6
		}
	}
	return flat
}
`

const growingTest = `package m

import "testing"

func run() {
	for range 3 {
		Most([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	}
	Fields("a,b,c,d,e,f,g,h,i,j")
	Fields("a")
	Flat([][]int{{1, 2, 3}, {4, 5, 6}})
}

func TestRun(t *testing.T) { run() }

func BenchmarkRun(b *testing.B) {
	Flat([][]int{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}) // in vain
	for range b.N {
		run()
	}
}
`

// TestCounts: a coverage profile says how often a call allocates.
func TestCounts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.org/m\n\ngo 1.24\n", "m.go": growing, "m_test.go": growingTest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in := command{dir, nil}
	if _, err := in.run(t.Context(), "go", "test", "-covermode=count", "-coverprofile=count.out", "-memprofile=mem.pb.gz", "-memprofilerate=1"); err != nil {
		t.Fatal(err)
	}
	config := Config{Dir: dir, Patterns: []string{"."}, Profiles: []string{filepath.Join(dir, "mem.pb.gz")}}
	config.Coverage = []string{filepath.Join(dir, "count.out"), filepath.Join(dir, "count.out")} // twice as often
	covered, err := Run(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]string{}
	for _, e := range covered.Evidence.Account.Sites {
		got[e.Line] = fmt.Sprint(e.PerCall)
	}
	for i, line := range strings.Split(growing, "\n") {
		if _, want, ok := strings.Cut(line, " // "); ok && got[i+1] != want {
			t.Errorf("line %d, %s: %q, want %q", i+1, strings.TrimSpace(line), got[i+1], want)
		}
	}
}

func TestCoverageOfOthers(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n", "m.go": "package m\n\nfunc F() {}\n",
		"set.out": "mode: set\nexample.org/m/m.go:3.10,3.12 0 1\n", "other.out": "mode: count\nexample.org/x/x.go:3.10,3.12 0 1\n",
		"old.out": "mode: count\nexample.org/m/m.go:30.10,31.12 0 1\n", "broken.out": "mode: count\nexample.org/m/m.go:thirty\n", "empty.out": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"set.out": "want a profile that counts", "other.out": "lies in the packages named", "old.out": "has no line 31", "broken.out": `"example.org/m/m.go:thirty"`,
		"empty.out": "want a profile that counts", "none.out": "no such file",
	} {
		_, err := Run(t.Context(), Config{Dir: dir, Patterns: []string{"."}, Checks: advise.All(), Coverage: []string{filepath.Join(dir, name)}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "advise: coverage: ") {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}
