package advice

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise"
	"github.com/isobar-go/isobar/advise/check"
)

// caveats is a module whose comments say what the fix of the finding that begins on
// their line needs: a caveat, or plain for none.
const caveats = `package m

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"strconv"

	"example.org/x/m/other"
)

type Held struct{ Value any }

func show(v any) bool { return v == nil }

func keep(h *Held, v any) { h.Value = v }

func Show(v any) bool { return v == nil }

type shower interface{ show(v any) bool }

type screen struct{ lines int }

func (s *screen) show(v any) bool { return v == s }

func read(s string) int {
	n := 0
	for _, r := range s {
		n += int(r)
	}
	return n
}

func Read(s string) int {
	n := read(s)
	return n + 1
}

func Boxed(h *Held, s *screen, numbers []int, texts [][]byte) (sum int) {
	for _, n := range numbers {
		show(n)    // plain
		Show(n)    // needs another interface
		keep(h, n) // needs another interface
		s.show(n)  // needs another interface
		h.Value = n
	}
	for _, b := range texts {
		sum += read(string(b))       // plain
		sum += Read(string(b))       // needs another interface
		sum += other.Len(string(b))  // needs another interface
	}
	return sum
}

func text(b []byte) func() any {
	n := len(b)
	return func() any {
		return n
	}
}

type texter interface{ Text() ([]byte, error) }

func textOf(t texter) (string, error) {
	b, err := t.Text()
	return string(b), err
}

type named struct {
	raw   []byte
	known []string
}

func (n *named) text() string { return string(n.raw) }

func (n *named) label() string { return string(n.raw) }

func (n *named) Is(s string) bool {
	if n.label() != s {
		n.known = append(n.known, n.text())
	}
	return n.text() == s
}

type panel struct{ gauge, spare *other.Gauge }

func newPanel(spare *other.Gauge) *panel {
	return &panel{
		gauge: other.NewGauge(),
		spare: spare,
	}
}

type set struct {
	byName map[string]int
	byPart map[string]int
}

func (s *set) add(name []byte, major, minor string) {
	s.byName[string(name)]++
	s.byPart[major+"/"+minor]++
}

func sum(key, text []byte, out []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(text)
	return h.Sum(out)
}

func digitsOf(n int) string {
	b := digits(n)
	return string(b)
}

func decimal(n int) string {
	b := strconv.AppendInt(nil, int64(n), 10)
	return string(b)
}

func digits(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }

type walker struct{ at, end int }

func (w *walker) next() bool { w.at++; return w.at < w.end }

func Walk(end int) func() bool {
	w := &walker{0, end}
	return w.next
}

func walk(end int) func() bool {
	w := &walker{0, end}
	return w.next
}

func Walked(end int) bool { return walk(end)() }

func Decode(b []byte) (string, error) {
	var m map[string]any
	err := json.Unmarshal(b, &m)
	name, _ := m["name"].(string)
	return name, err
}

func DecodeAll(b []byte) (any, error) {
	var v any
	err := json.Unmarshal(b, &v)
	return v, err
}

func number(list []int) any {
	sum := 0
	for _, n := range list {
		sum += n
	}
	return sum
}

func Number(list []int) bool { return number(list) == nil }

func Grown(numbers []int, rows [][]int) (a, b, c, d, e []int) {
	first := []int{}
	for _, n := range numbers {
		if n > 3 {
			first = append(first, n)
		} else {
			first = append(first, -n)
		}
	}
	second := []int{}
	for _, n := range numbers {
		if n > 3 {
			second = append(second, n)
		}
	}
	third := []int{}
	for _, row := range rows {
		for _, n := range row {
			third = append(third, n)
		}
	}
	fourth := []int{}
	for _, n := range numbers {
		if n == 7 {
			continue
		}
		fourth = append(fourth, n)
	}
	fifth := []int{}
	for _, n := range numbers {
		switch {
		case n > 3:
			fifth = append(fifth, n)
		default:
			fifth = append(fifth, 0)
		}
	}
	return first, second, third, fourth, fifth
}
`

func TestCaveats(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/x/m\n\ngo 1.26\n", "m.go": caveats, "other/other.go": "package other\n\nfunc Len(s string) int { return len(s) }\n\ntype Gauge struct{ n int }\n\nfunc NewGauge() *Gauge { return &Gauge{n: 1} }\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Run(t.Context(), Config{Dir: dir, Patterns: []string{"."}, Checks: []*check.Check{advise.Lookup("boxing"), advise.Lookup("stringconv"), advise.Lookup("prealloc"), advise.Lookup("jsonloop"), advise.Lookup("closurecapture"), advise.Lookup("optionalpointer"), advise.Lookup("pointerkey"), advise.Lookup("bufferpercall")}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]string{}
	for _, f := range r.Findings {
		got[f.Line] = "plain"
		if f.Caveat != "" {
			got[f.Line] = string(f.Caveat)
		}
	}
	for i, line := range strings.Split(caveats, "\n") {
		_, want, _ := strings.Cut(line, " // ")
		if got[i+1] != want {
			t.Errorf("line %d, %s: %q, want %q", i+1, strings.TrimSpace(line), got[i+1], want)
		}
	}
}

// TestCaveatsComeLast: with a profile, findings with a caveat come after all others,
// whatever their share.
func TestCaveatsComeLast(t *testing.T) {
	findings := []Finding{
		{Check: "d", Share: &Shares{Bytes: 0.5}, Caveat: check.Interface},
		{Check: "b", Share: &Shares{Bytes: 0.2}},
		{Check: "e", Share: &Shares{Bytes: 0.4}, Caveat: check.Interface},
		{Check: "c", Share: &Shares{Bytes: 0.1}},
		{Check: "a", Share: &Shares{Bytes: 0.6}},
	}
	slices.SortFunc(findings, before)
	order := ""
	for _, f := range findings {
		order += f.Check
	}
	if order != "abcde" {
		t.Errorf("order %s, want abcde", order)
	}
	without := []Finding{{Check: "x", Line: 1, Severity: "advice", Caveat: check.Interface}, {Check: "y", Line: 2, Severity: "advice"}}
	slices.SortFunc(without, before)
	if without[0].Check != "x" {
		t.Error("without a profile, a caveat changes the order")
	}
	if text := without[0].Text(); text != "; needs another interface" {
		t.Errorf("text %q", text)
	}
}
