package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/advice"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want []finding
	}{
		{"a/b.go:12 Consider preallocating x\n", []finding{{file: "a/b.go", line: 12,
			message: "Consider preallocating x"}}},
		{"/m/a.go:3:9: fmt.Sprintf can be replaced with faster strconv.Itoa\nexit status 3\n",
			[]finding{{file: "/m/a.go", line: 3, message: "fmt.Sprintf can be replaced with faster strconv.Itoa"}}},
		{"a.go:3: rule: x => y\n",
			[]finding{{file: "a.go", line: 3, message: "rule: x => y"}}},
		{`{"findings": [{"file": "a.go", "line": 4, "check": "boxing", "message": "m"}]}`,
			[]finding{{file: "a.go", line: 4, message: "boxing: m"}}},
	} {
		got, err := parse([]byte(c.text))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.text, got, err, c.want)
		}
	}
}

func parsed(source string) *module {
	files := map[string][]string{"a.go": strings.SplitAfter(source, "\n")}
	return &module{name: "m", lines: 2000, files: files, total: 1000}
}

func TestTable(t *testing.T) {
	m := parsed("package a\n\nfunc f() {\n\tvar out []int\n\tout = append(out, 1)\n}\n\nfunc g() {\n}\n")
	on := advice.Explained{File: "a.go", Line: 5, What: "append(out, 1)"}
	on.Share.Bytes = 0.25
	beside := advice.Explained{File: "a.go", Line: 9, What: "new(int)"}
	beside.Share.Bytes = 0.5
	m.sites = []advice.Explained{on, beside}
	for _, c := range []struct {
		f    finding
		want bool
	}{
		{finding{file: "a.go", line: 5}, true},
		{finding{file: "b.go", line: 5}, false},
		{finding{file: "a.go", line: 4, message: "Consider preallocating out"}, true},
		{finding{file: "a.go", line: 4, message: "Consider preallocating output"}, false},
		{finding{file: "a.go", line: 8, message: "Consider preallocating out"}, false},
	} {
		if got := m.names(c.f, on); got != c.want {
			t.Errorf("%+v names the site: %v, want %v", c.f, got, c.want)
		}
	}
	f := finding{"tool", "m", "a.go", 4, "Consider preallocating out"}
	o := &outcome{"tool", []finding{f}}
	got := table([]*outcome{o}, []*module{m}, map[string]bool{f.key(): true})
	want := "| tool | 1 | 0.50 | 1 of 2 | 25.0 % | 25.0 % | 1 of 1 |\n"
	if !strings.HasSuffix(got, want) || !strings.Contains(got, "2 sites that hold 75 %") {
		t.Errorf("got:\n%s\nwant at its end:\n%s", got, want)
	}
}

// A sample does not change as long as the findings do not.
func TestPick(t *testing.T) {
	var all []finding
	for i := range 3 * sampleSize {
		all = append(all, finding{module: "m", line: i})
	}
	one, two := pick(all), pick(all)
	if len(one) != sampleSize || !slices.Equal(one, two) || slices.Equal(one, all[:sampleSize]) {
		t.Errorf("samples %v and %v", one, two)
	}
	if got := pick(all[:3]); !slices.Equal(got, all[:3]) {
		t.Errorf("of 3 findings %v", got)
	}
}

func TestJudged(t *testing.T) {
	if _, err := readJudged("testdata/judged.tsv"); err != nil {
		t.Error(err)
	}
}
