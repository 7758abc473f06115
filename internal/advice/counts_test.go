package advice

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise"
	"github.com/isobar-go/isobar/advise/check"
)

// growing has findings that need an estimate. Their comments say what is to be
// counted of them where the test of the module runs, and whether that tells the
// size.
const growing = `package m

import "strings"

func Most(numbers []int) []int {
	var most []int // 9 are added on average, in 90 % of the rounds
	for _, n := range numbers {
		if n == 0 {
			continue
		}
		most = append(most, n)
	}
	return most
}

func Few(numbers []int) []int {
	var few []int // 1 are added on average, in 10 % of the rounds; needs an estimate
	for _, n := range numbers {
		if n == 0 {
			few = append(few, n)
		}
	}
	return few
}

func Fields(text string) (fields []string) {
	for {
		field, rest, found := strings.Cut(text, ",")
		fields = append(fields, field) // 5.5 are added on average
		if !found {
			return fields
		}
		text = rest
	}
}

func Pair(text string) []string {
	var pair []string // 1.5 are added on average; needs an estimate
	for {
		field, rest, found := strings.Cut(text, "=")
		pair = append(pair, field)
		if !found {
			return pair
		}
		text = rest
	}
}

func Flat(rows [][]int) []int {
	var flat []int // 6 are added on average
	for _, row := range rows {
		for _, n := range row {
			flat = append(flat, n)
		}
	}
	return flat
}

func Never(rows [][]int) []int {
	var never []int // not run by what was counted; needs an estimate
	for _, row := range rows {
		for _, n := range row {
			never = append(never, n)
		}
	}
	return never
}

func Lines(text string) (lines [][]string) {
	var line []string // needs an estimate
	for {
		field, rest, found := strings.Cut(text, ",")
		line = append(line, field)
		if strings.HasSuffix(field, ";") {
			lines, line = append(lines, line), nil
		}
		if !found {
			return append(lines, line)
		}
		text = rest
	}
}

func All(numbers []int) map[int]bool {
	all := map[int]bool{} // plain
	for _, n := range numbers {
		all[n] = true
	}
	return all
}
`

const growingTest = `package m

import "testing"

func run() {
	for range 3 {
		Most([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
		Few([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	}
	Fields("a,b,c,d,e,f,g,h,i,j")
	Fields("a")
	Lines("a,b,c;,d,e,f;")
	Pair("a=b")
	Pair("a")
	Flat([][]int{{1, 2, 3}, {4, 5, 6}})
	All([]int{1, 2, 3})
}

func TestRun(t *testing.T) { run() }

func BenchmarkRun(b *testing.B) {
	Flat([][]int{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}) // in vain
	for range b.N {
		run()
	}
}
`

// TestCounts: a coverage profile and the benchmarks say the same of what needs
// an estimate.
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
	config := Config{Dir: dir, Patterns: []string{"."}, Checks: []*check.Check{advise.Lookup("prealloc")}, Profiles: []string{filepath.Join(dir, "mem.pb.gz")}}
	benched, err := Run(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := Count(t.Context(), config, ".", benched, func(string) {}); err != nil {
		t.Fatal(err)
	}
	config.Coverage = []string{filepath.Join(dir, "count.out"), filepath.Join(dir, "count.out")} // twice as often
	covered, err := Run(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*Result{"benchmarks": benched, "coverage": covered} {
		got := map[int]string{}
		for _, f := range r.Findings {
			_, text, _ := strings.Cut(f.Text(), "(exercise 5)")
			if text = strings.TrimPrefix(text, "; "); text == "" {
				text = "plain"
			}
			got[f.Line] = text
		}
		for i, line := range strings.Split(growing, "\n") {
			if _, want, _ := strings.Cut(line, " // "); got[i+1] != want {
				t.Errorf("%s: line %d, %s: %q, want %q", name, i+1, strings.TrimSpace(line), got[i+1], want)
			}
		}
		last := false
		for _, f := range r.Findings {
			if last && f.Caveat == "" {
				t.Errorf("%s: %s:%d stands below one that has a caveat", name, f.File, f.Line)
			}
			last = last || f.Caveat != ""
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
