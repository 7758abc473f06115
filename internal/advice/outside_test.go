package advice

import (
	"maps"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise"
	"github.com/isobar-go/isobar/advise/life"
)

// calls are functions whose last call allocates: the names of those that may be told what to
// use instead begin with Yes.
const calls = `package m

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

var kept any

func YesSplit(s string) (n int) {
	for _, part := range strings.Split(s, ",") {
		n += len(part)
	}
	return n
}

func NoSplit(s string) []string { return strings.Split(s, ",") }

func YesErrorf() error { return errors.New("x") }

func NoErrorf(s string) error { return errors.New(s) }

func YesRegexp(s string) bool {
	p := "a+"
	return regexp.MustCompile(p).MatchString(s)
}

func NoRegexp(p, s string) bool { return regexp.MustCompile(p).MatchString(s) }

func YesSprintf(b []byte, n int) []byte { return append(b, fmt.Sprintf("%d", n)...) }

func NoSprintf(n any) string { return fmt.Sprintf("%v", n) }

func YesReader(r io.Reader) byte {
	b := bufio.NewReader(r)
	c, _ := b.ReadByte()
	return c
}

func NoReader(r io.Reader) { kept = bufio.NewReader(r) }

func NoReaderRecursive(r io.Reader, n int) byte {
	b := bufio.NewReader(r)
	c, _ := b.ReadByte()
	if n > 0 {
		c += NoReaderRecursive(r, n-1)
	}
	return c
}

func YesItoa(b []byte, n int) []byte { return append(b, strconv.Itoa(n)...) }

func NoSplitWritten(s string) (n int) {
	for i, parts := 0, strings.Split(s, ","); i < len(parts); i++ {
		parts[i] = "x" + parts[i]
		n += len(parts[i])
	}
	return n
}

func NoItoa(n int) string { return strconv.Itoa(n) }

func YesBuffer(w io.Writer, in []string) {
	var b bytes.Buffer
	for _, s := range in {
		b.WriteString(s)
	}
	w.Write(b.Bytes())
}

func NoBufferKept(in []string) []byte {
	var b bytes.Buffer
	for _, s := range in {
		b.WriteString(s)
	}
	return b.Bytes()
}

func NoBufferOnce(s string) []byte {
	var b bytes.Buffer
	b.WriteString(s)
	return b.Bytes()
}

func NoBufferGiven(b *bytes.Buffer, in []string) {
	for _, s := range in {
		b.WriteString(s)
	}
}
`

// TestCallsNeedWhatTheirRemedyRestsOn: what to use in place of a call is said where the code
// allows it; elsewhere the report says where to look.
func TestCallsNeedWhatTheirRemedyRestsOn(t *testing.T) {
	callees := map[string]string{"Split": "strings.Split", "Errorf": "errors.New", "Regexp": "regexp.MustCompile",
		"Sprintf": "fmt.Sprintf", "Reader": "bufio.NewReader", "Itoa": "strconv.Itoa", "Buffer": "bytes.(*Buffer).WriteString"}
	x, p := explainerOf(t, calls)
	judged := 0
	for _, s := range p.Sites() {
		name := s.Func.Name()
		callee := ""
		for what, of := range callees {
			if strings.Contains(name, what) {
				callee = of
			}
		}
		if s.Kind != life.Call || s.Callee() != lastName(callee) {
			continue
		}
		judged++
		c := &cause{callee: callee, leaf: callee, function: "m." + name, at: place{p.Fset.Position(s.Pos()).Filename, s.From}}
		k := &subject{x: x, c: c, p: p, s: s, t: &site{Totals: Totals{Bytes: 4096, Objects: 16}},
			e: &Explained{Callee: shortName(callee)}}
		k.life = x.lifetime(p, s, c)
		k.judge()
		want := strings.HasPrefix(name, "Yes")
		if k.e.Verdict != map[bool]Verdict{true: Candidate, false: Outside}[want] {
			t.Errorf("%s: %s: %s; want a candidate: %v", name, k.e.Verdict, k.e.Remedy, want)
		}
	}
	if want := strings.Count(calls, "\nfunc "); judged != want {
		t.Errorf("%d of %d functions are judged", judged, want)
	}
}

// sharedLines are lines of which one expression has a fix, and others do not.
const sharedLines = `package m

import (
	"fmt"
	"strings"
)

type Held struct{ Value any }

func show(v any) bool { return v == nil }

func Build(in []int) string {
	var b strings.Builder
	for _, n := range in {
		b.WriteString(fmt.Sprintf("%d,", n))
	}
	return b.String()
}

func Boxed(h *Held, in []int) {
	for _, n := range in {
		show(n); h.Value = n
	}
}
`

// TestFixesAreOfTheirExpression: what a check has for one expression of a line is not offered
// for what another one makes.
func TestFixesAreOfTheirExpression(t *testing.T) {
	x, p := explainerOf(t, sharedLines)
	r, err := Run(t.Context(), Config{Dir: x.base, Patterns: []string{"."}, Checks: advise.All()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Findings {
		r.Findings[i].Fix = true
	}
	x.findings = newExplainer(t.Context(), Config{}, nil, x.base, r.Findings).findings
	judged := map[string]bool{}
	for _, s := range p.Sites() {
		c := &cause{function: "m." + s.Func.Name(), at: place{p.Fset.Position(s.Pos()).Filename, s.From},
			chains: map[string]*chain{"": {made: true}}}
		switch {
		case s.Callee() == "WriteString":
			c.callee, c.leaf = "strings.(*Builder).WriteString", "strings.(*Builder).WriteString"
		case s.Callee() == "Sprintf":
			c.callee, c.leaf = "fmt.Sprintf", "fmt.Sprintf"
		case s.Kind != life.Box || s.Func.Name() != "Boxed":
			continue
		}
		k := &subject{x: x, c: c, p: p, s: s, t: &site{Totals: Totals{Bytes: 4096, Objects: 16}}, e: &Explained{}}
		k.e.Callee = shortName(c.callee)
		k.judge()
		name := s.Callee()
		if s.Kind == life.Box {
			name = "kept"
			if k.consumer() != "" {
				name = "shown"
			}
		}
		judged[name] = k.e.Fix
		if !k.e.Fix && k.e.Verdict == Candidate {
			t.Errorf("%s: no fix, %s: %s", name, k.e.Verdict, k.e.Remedy)
		}
	}
	want := map[string]bool{"Sprintf": true, "WriteString": false, "shown": true, "kept": false}
	if !maps.Equal(judged, want) {
		t.Errorf("fixes %v, want %v; the findings are %+v", judged, want, r.Findings)
	}
}

// TestRemediesKeepToTheGoVersion: what is named in place of a call is in the library that the
// module may have.
func TestRemediesKeepToTheGoVersion(t *testing.T) {
	x, p := explainerOf(t, `package m

import "strings"

func Split(s string) (n int) {
	for _, part := range strings.Split(s, ",") {
		n += len(part)
	}
	return n
}

func Fields(s string) (n int) {
	for _, part := range strings.Fields(s) {
		n += len(part)
	}
	return n
}
`)
	for _, want := range []struct{ version, split, fields string }{
		{"go1.24", "SplitSeq", "FieldsSeq"}, {"go1.21", "strings.Cut needs", ""}, {"go1.17", "", ""},
	} {
		for _, f := range p.Files {
			p.Info.FileVersions[f] = want.version
		}
		for _, s := range p.Sites() {
			if s.Kind != life.Call || s.Func.Name() != s.Callee() {
				continue
			}
			c := &cause{callee: "strings." + s.Callee(), function: "m." + s.Callee(),
				at: place{p.Fset.Position(s.Pos()).Filename, s.From}}
			k := &subject{x: x, c: c, p: p, s: s, t: &site{}, e: &Explained{Callee: c.callee}}
			k.judge()
			text := map[string]string{"Split": want.split, "Fields": want.fields}[s.Callee()]
			if (k.e.Verdict == Candidate) != (text != "") || !strings.Contains(k.e.Remedy, text) ||
				text == "" && strings.Contains(k.e.Remedy, "Seq") {
				t.Errorf("%s: %s: %s: %s; want %q", want.version, s.Callee(), k.e.Verdict, k.e.Remedy, text)
			}
		}
	}
}

// TestBoxingKeepsToTheGoVersion: before Go 1.18 there are no type parameters.
func TestBoxingKeepsToTheGoVersion(t *testing.T) {
	const source = "package m\n\nfunc show(v interface{}) bool { return v == nil }\n\n" +
		"func All(in []int) {\n\tfor _, n := range in {\n\t\tshow(n)\n\t}\n}\n"
	for version, named := range map[string]bool{"1.17": false, "1.18": true} {
		dir := tree(t, map[string]string{"go.mod": "module example.org/m\n\ngo " + version + "\n", "m.go": source})
		r, err := Run(t.Context(), Config{Dir: dir, Patterns: []string{"."}, Checks: advise.All()})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) != 1 || strings.Contains(r.Findings[0].Message, "type parameter") != named {
			t.Errorf("go %s: %+v; type parameters named: want %v", version, r.Findings, named)
		}
	}
}

// TestTextsNameWhatTheyAreAbout: the buffer to append to, and who makes the memory.
func TestTextsNameWhatTheyAreAbout(t *testing.T) {
	x, p := explainerOf(t, calls)
	named := map[string]string{"YesSprintf": "append the pieces to b, ", "YesItoa": "with b, "}
	for _, s := range p.Sites() {
		want := named[s.Func.Name()]
		if want == "" || s.Kind != life.Call {
			continue
		}
		delete(named, s.Func.Name())
		at := place{p.Fset.Position(s.Pos()).Filename, s.From}
		callee := map[string]string{"Sprintf": "fmt.Sprintf", "Itoa": "strconv.Itoa"}[s.Callee()]
		e := x.part(&cause{callee: callee, at: at, function: "m." + s.Func.Name()}, p, s, &site{})
		if !strings.Contains(e.Remedy, want) {
			t.Errorf("%s: %q, want %q", s.Func.Name(), e.Remedy, want)
		}
		e = x.part(&cause{at: at, function: "m." + s.Func.Name()}, p, s, &site{})
		if want := "the code of " + s.Callee() + " makes it"; !strings.Contains(e.Lifetime, want) {
			t.Errorf("%s: %q, want %q", s.Func.Name(), e.Lifetime, want)
		}
	}
	if len(named) > 0 {
		t.Errorf("no call in %v", named)
	}
}
