package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const source = `package p

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

var _ bufio.Writer

type list[T any] struct{ all []T }

func (l *list[T]) add(v T) {
	l.all = append(l.all, v)
}

type T struct{}

func (T) Text(ids []int, w io.Writer) {
	for _, id := range ids {
		each(func(n int) {
			func() { w.Write([]byte(fmt.Sprint(n, id))) }()
		})
	}
}

func each(f func(int)) { f(1) }

var Hook = func(s string) string { return s + s }

func Write() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "x")
	go func() {
		sink = new(int)
	}()
	return "a" + b.String()
}

var sink *int

func Flush(w interface{ Flush() error }) { w.Flush() }

func Top() string { return Write() }
`

// in returns the line that has a text.
func in(t *testing.T, part string) int {
	t.Helper()
	before, _, ok := strings.Cut(source, part)
	if !ok {
		t.Fatalf("no line has %q", part)
	}
	return strings.Count(before, "\n") + 1
}

func TestProfile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.org/m\n\ngo 1.26\n", "p.v2/p.go": source} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const app = " example.com/app.serve main.main runtime.main"
	for _, c := range []struct {
		at, call string
		exact    bool
		want     []string // the stacks, leaf first
	}{
		{at: "l.all = append", want: slices.Repeat([]string{"P.(*list[...]).add" + app}, 5)},
		{at: "w.Write", call: "fmt.Sprint", want: []string{"fmt.Sprint P.T.Text.func1.1 P.T.Text.func1" + app,
			"P.T.Text.func1.1 P.T.Text.func1" + app, "P.T.Text.func1.1 P.T.Text.func1" + app}}, // boxes n and id
		{at: "return s + s", want: []string{"P.init.func1" + app}},
		{at: "fmt.Fprintf", call: "fmt.Fprintf", want: []string{"fmt.Fprintf P.Write P.Top" + app,
			"bytes.(*Buffer).Write fmt.Fprintf P.Write P.Top" + app}},
		{at: "fmt.Fprintf", call: "bytes.Buffer.Write", want: []string{
			"bytes.(*Buffer).Write fmt.Fprintf P.Write P.Top" + app}},
		{at: "w.Flush", call: "bufio.Writer.Flush", want: []string{"bufio.(*Writer).Flush P.Flush" + app}},
		{at: `return "a"`, call: "fmt.Sprintf", exact: true, want: []string{"P.Write P.Top" + app}},
		{at: "new(int)", want: []string{"P.Write.func1 runtime.goexit"}},
		{at: "return Write", want: []string{"P.Top" + app}},
	} {
		code, err := load(t.Context(), dir, "./p.v2", filepath.Join(dir, "p.v2", "p.go"), in(t, c.at))
		if err != nil {
			t.Fatal(err)
		}
		samples, err := code.samples(t.Context(), dir, c.call, c.exact)
		if err != nil {
			t.Fatal(err)
		}
		p, err := code.profile(samples)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		var bytes, objects, line, made int64
		for _, s := range p.Sample {
			bytes, objects = bytes+s.Value[1], objects+s.Value[0]
			var names []string
			for _, l := range s.Location {
				names = append(names, l.Line[0].Function.Name)
			}
			if names[0] != "bufio.NewReaderSize" {
				got = append(got, strings.ReplaceAll(strings.Join(names, " "), "example.org/m/p%2ev2.", "P."))
				line, made = line+s.Value[1], made+s.Value[0]
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %s: %q, want %q", c.at, code.said, got, c.want)
		}
		if line*5 != bytes || made*5 != objects {
			t.Errorf("%s: %d of %d bytes, %d of %d objects", c.at, line, bytes, made, objects)
		}
	}
	if _, err := load(t.Context(), dir, "./p.v2", filepath.Join(dir, "p.v2", "q.go"), 1); err == nil {
		t.Error("a file of another system: no error")
	}
}

func TestAbout(t *testing.T) {
	const report = `findings of the checks, with their share of the profile:
a.go:1:2: trap useafterput: [no sample] elsewhere
a.go:3:4: advice sprintf: [20.0 % of bytes] here
a.go:5:4: trap useafterput: [no sample] on the line

where the memory is made, and what can be done about it (explained: 100.0 %; the lifetime is
not known):

a.go:5: call fmt.Sprintf, in a.F
  look: no remedy: none

no line of these packages on the stack: 80.0 % of bytes

3 findings in 10 lines of 1 package
`
	got := about(report, "a.go", 5)
	for part, want := range map[string]bool{"elsewhere": false, "here": true, "on the line": true, "a.go:5: call": true,
		"explained": false, "none": true, "80.0": false, "3 findings": false} {
		if strings.Contains(got, part) != want {
			t.Errorf("%q is in the text: %v\n%s", part, !want, got)
		}
	}
}

func TestTable(t *testing.T) {
	fixes := []fix{{Exercise: 1}, {Exercise: 1}, {Exercise: 5}}
	name := filepath.Join(t.TempDir(), "judged.tsv")
	write := func(rows string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(strings.Join(columns, "\t")+"\n"+rows), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("1\tsprintf\tm\ta.go:1\tyes\tyes\tit names strconv\n2\tsprintf\tm\ta.go:2\tno\tno\tit says nothing\n" +
		"3\tprealloc\tm\ta.go:3\t-\t-\t\n")
	rows, err := readJudged(name, len(fixes))
	if err != nil {
		t.Fatal(err)
	}
	got := table(fixes, rows)
	for _, want := range []string{"| sprintf | 2 | 2 | 1 | 50 % | 2 | 1 |", "| prealloc | 1 | 0 | 0 |  | 0 | 0 |",
		"| all | 3 | 2 | 1 | 50 % | 2 | 1 |"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no row %s in\n%s", want, got)
		}
	}
	for _, bad := range []string{"4\t\t\t\tyes\tyes\tr\n", "1\t\t\t\tperhaps\tyes\tr\n", "1\t\t\t\tyes\tyes\t\n",
		"1\t\t\t\tyes\tyes\tr\n1\t\t\t\tyes\tyes\tr\n", "1\n"} {
		write(bad)
		if _, err := readJudged(name, len(fixes)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
