package life

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"
)

// load builds a package of one file, without facts about its imports.
func load(t *testing.T, name string, src any) *Package {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return loadFiles(t, "fates", fset, []*ast.File{f}, nil)
}

// loadFiles type-checks files and builds their package; they can import others.
func loadFiles(t *testing.T, path string, fset *token.FileSet, files []*ast.File, facts func(string) *Facts,
	others ...*types.Package) *Package {
	t.Helper()
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{},
		Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{}}
	sizes := types.SizesFor("gc", "amd64")
	cfg := types.Config{Importer: among{importer.ForCompiler(fset, "source", nil), others}, Sizes: sizes}
	pkg, err := cfg.Check(path, fset, files, info)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Build(Source{Fset: fset, Pkg: pkg, Files: files, Info: info, Sizes: sizes, Facts: facts})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// among imports the given packages, and all others from source.
type among struct {
	types.Importer
	given []*types.Package
}

func (a among) Import(path string) (*types.Package, error) {
	for _, p := range a.given {
		if p.Path() == path {
			return p, nil
		}
	}
	return a.Importer.Import(path)
}

// verdict describes the fate of a site in the words of testdata.
func verdict(p *Package, s *Site) string {
	f := p.Fate(s.Value)
	switch {
	case f.Dies() && !f.Beyond && p.Loop(s.Instr.Block()) != nil:
		return "dies in the round"
	case f.Dies():
		return "dies"
	}
	var all []string
	for _, h := range f.Holders {
		text := h.String()
		if h.Perhaps {
			text = "perhaps " + text
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " and ")
}

// TestFates compares each commented line of testdata/fates.go with its comment: the
// kind of each site and who holds it.
func TestFates(t *testing.T) {
	p := load(t, "testdata/fates.go", nil)
	want := map[int]string{}
	for _, group := range p.Files[0].Comments {
		for _, c := range group.List {
			if text := strings.TrimPrefix(c.Text, "// "); strings.Contains(text, ": ") {
				want[p.Fset.Position(c.Pos()).Line] = text
			}
		}
	}
	got := map[int][]string{}
	for _, s := range p.Sites() {
		if s.Kind != Call && s.Kind != Variadic && s.Kind != Variable && s.Kind != MapGrow && s.Value != nil {
			at := p.Fset.Position(s.Pos()).Line
			got[at] = append(got[at], fmt.Sprintf("%s: %s", s.Kind, verdict(p, s)))
		}
	}
	for at, text := range want {
		parts := strings.Split(text, "; ")
		slices.Sort(parts)
		slices.Sort(got[at])
		if !slices.Equal(parts, got[at]) {
			t.Errorf("line %d: got %q, want %q", at, got[at], parts)
		}
	}
	if len(want) < 30 {
		t.Errorf("%d lines have a comment: is the table read?", len(want))
	}
}

// TestCopied: closures have a copy of what is set once, where it is declared.
func TestCopied(t *testing.T) {
	const src = `package m

var (
	do   func(func())
	kept *int
)

func F(given, changed int, large [99]int) {
	once, late := given, 0
	var zero, set int
	address := 1
	do(func() { _ = given + once + zero + set + large[0] + address; do(func() { late++ }) })
	set, changed, kept = 1, 2, &address
	do(func() { _ = changed })
}
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "m.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range loadFiles(t, "m", fset, []*ast.File{f}, nil).Sites() {
		if s.Kind == Variable {
			names = append(names, s.Instr.(*ssa.Alloc).Comment)
		}
	}
	if got, want := strings.Join(names, " "), "changed large late set address"; got != want {
		t.Errorf("variables on the heap: %s, want %s", got, want)
	}
}

// TestSummaries checks what callers are told about functions.
func TestSummaries(t *testing.T) {
	p := load(t, "testdata/fates.go", nil)
	for _, tt := range []struct {
		fn   string
		want string
	}{
		{"reads", "params {lets}"},
		{"keeps", "params {keeps package variable global}"},
		{"links", "params {lets} {into 0}"},
		{"after", "params {within} results {fresh}"},
		{"same", "params {returns} results {params 1}"},
		{"returned", "params {lets} results {fresh}"},
		{"mutual", "params {keeps package variable global} {lets}"},
		{"mutual2", "params {keeps package variable global} {lets}"},
		{"contents", "params {lets} results {params 1}"},
		{"generic", "params {returns} results {params 1}"},
	} {
		s := p.Summary(p.SSA.Func(tt.fn))
		if got := describe(s); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.fn, got, tt.want)
		}
	}
}

func describe(s *Summary) string {
	var b strings.Builder
	b.WriteString("params")
	for _, p := range s.Params {
		u, text := p.Self, []string{}
		if u.Returns|u.Within|u.Into == 0 && len(u.Keeps) == 0 {
			text = append(text, "lets")
		}
		if u.Returns != 0 {
			text = append(text, "returns")
		}
		if u.Within != 0 {
			text = append(text, "within")
		}
		if u.Into != 0 {
			text = append(text, fmt.Sprintf("into %d", u.Into>>1))
		}
		for _, k := range u.Keeps {
			text = append(text, "keeps "+Holder{Kind: k.Kind, Name: k.Name}.String())
		}
		fmt.Fprintf(&b, " {%s}", strings.Join(text, ", "))
	}
	for i, r := range s.Results {
		if r == (Origin{}) {
			continue
		}
		if i == 0 {
			b.WriteString(" results")
		}
		switch {
		case r.OnlyFresh():
			b.WriteString(" {fresh}")
		case r.Params != 0:
			fmt.Fprintf(&b, " {params %d}", r.Params)
		default:
			fmt.Fprintf(&b, " {%+v}", r)
		}
	}
	return b.String()
}

// TestFateOf checks that a map may die before its elements.
func TestFateOf(t *testing.T) {
	p := load(t, "map.go", `package fates

type node struct{}

type table struct{ all map[string]*node }

func of(k string) *node {
	t := &table{map[string]*node{}}
	t.all[k] = &node{}
	return t.all[k]
}
`)
	for _, s := range p.Sites() {
		f, want := p.Fate(s.Value), true
		switch {
		case s.Kind == MapGrow:
			f = p.FateOf(s.Instr.(*ssa.MapUpdate).Map, Holder{Kind: MapEntry})
		case s.Kind == Literal:
			want = strings.HasSuffix(s.Type.String(), "table")
		}
		if f.Dies() != want {
			t.Errorf("%s of a %v dies: %v, %v, want %v", s.Kind, s.Type, f.Dies(), f.Holders, want)
		}
	}
}

// TestFactsCross checks that a package exports facts of its own functions only, and
// uses those of its imports.
func TestFactsCross(t *testing.T) {
	p := load(t, "testdata/fates.go", nil)
	facts := p.Facts()
	for name := range facts.Funcs {
		if !strings.Contains(name, "fates") {
			t.Errorf("%s is not of the package", name)
		}
	}
	p.Source.Facts = func(path string) *Facts {
		if path != "io" {
			t.Errorf("facts of %s were asked for", path)
		}
		return &Facts{map[string]*Summary{"io.ReadAll": {Results: []Origin{{Fresh: true}, {}}}}}
	}
	i := slices.IndexFunc(p.Pkg.Imports(), func(imported *types.Package) bool { return imported.Path() == "io" })
	fn := p.SSA.Prog.FuncValue(p.Pkg.Imports()[i].Scope().Lookup("ReadAll").(*types.Func))
	if s := p.Summary(fn); s == nil || !s.Results[0].OnlyFresh() {
		t.Errorf("ReadAll: got %v, want what the facts say", s)
	}
}

// TestForeignInterface checks that methods of another package's interface are unknown
// callees: any package may implement it.
func TestForeignInterface(t *testing.T) {
	fset := token.NewFileSet()
	parse := func(name, src string) []*ast.File {
		f, err := parser.ParseFile(fset, name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		return []*ast.File{f}
	}
	store := loadFiles(t, "example.org/store", fset, parse("store.go", `package store

type Cache interface {
	Get(key *string) bool
	Set(key *string)
	Log(key *string)
}

type memory struct{ keys []*string }

func (m *memory) Get(k *string) bool { return *k == "" }
func (m *memory) Set(key *string)      { m.keys = append(m.keys, key) }
func (m *memory) Log(key *string)      {}
`), nil)
	facts := store.Facts()
	user := loadFiles(t, "example.org/user", fset, parse("user.go", `package user

import "example.org/store"

type logger struct{}

var last *string

func (logger) Log(line *string) { last = line }

func use(c store.Cache) {
	get, set, log := new(string), new(string), new(string)
	c.Get(get)
	c.Set(set)
	c.Log(log)
}
`), func(string) *Facts { return facts }, store.Pkg)
	var got []string
	for _, s := range user.Sites() {
		if s.Kind == New {
			got = append(got, verdict(user, s))
		}
	}
	want := []string{"perhaps Cache.Get", "perhaps Cache.Set", "perhaps Cache.Log"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestGrowth checks the rounds of what grows in a loop, and that other code has none.
func TestGrowth(t *testing.T) {
	p := load(t, "grow.go", `package fates

import "io"

type T struct{ list []int }

func all(xs []int, w io.Writer, r io.Closer) (out []int, s string, m map[int]bool) {
	m = map[int]bool{}
	for _, x := range xs {
		out = append(out, x)
		s += "x"
		m[x] = true
	}
	w.Write(nil)
	r.Close()
	return out, s, m
}

func some(n int) (out []int) {
	for i := 0; i < n; i++ {
		if i != 3 {
			out = append(out, i)
		}
	}
	return out
}

func (t *T) add(x int) { t.list = append(t.list, x) }
`)
	var got []string
	for _, s := range p.Sites() {
		g := p.Growth(s)
		if g.Loop == nil && g.Field == "" {
			continue
		}
		rounds := ""
		if id, ok := g.Rounds.(*ast.Ident); ok {
			rounds = id.Name
		}
		got = append(got, fmt.Sprint(s.Kind, " ", rounds, g.Field))
	}
	want := []string{"append xs", "concatenation xs", "map grown xs", "append n", "append T.list"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFactsEncode checks that facts always encode to the same bytes, and decode to equal facts.
func TestFactsEncode(t *testing.T) {
	facts := load(t, "testdata/fates.go", nil).Facts()
	facts.Funcs["fates.F"] = &Summary{Params: []Param{{Self: Use{Into: 1, Keeps: []Keep{{Kind: Global, Name: "x"}}}}},
		Results: []Origin{{Fresh: true}}}
	for i := range 20 {
		facts.Funcs[fmt.Sprint("fates.G", i)] = &Summary{}
	}
	once, err := facts.GobEncode()
	if err != nil {
		t.Fatal(err)
	}
	again, _ := facts.GobEncode()
	var read Facts
	if err := read.GobDecode(once); err != nil || !bytes.Equal(once, again) {
		t.Fatalf("%v; the same facts are %d and %d bytes", err, len(once), len(again))
	}
	if got, want := describe(read.Funcs["fates.F"]), describe(facts.Funcs["fates.F"]); got != want {
		t.Errorf("read %q, want %q", got, want)
	}
	if err := read.GobDecode(once[:len(once)/2]); err == nil {
		t.Error("no error for half of it")
	}
}

// TestBuildRefuses checks that Build returns an error for unknown types.
func TestBuildRefuses(t *testing.T) {
	fset := token.NewFileSet()
	f, _ := parser.ParseFile(fset, "x.go", "package x\nfunc f() { g(1) }", 0)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}}
	cfg := types.Config{Error: func(error) {}}
	pkg, _ := cfg.Check("x", fset, []*ast.File{f}, info)
	if _, err := Build(Source{Fset: fset, Pkg: pkg, Files: []*ast.File{f}, Info: info}); err == nil {
		t.Error("no error for a call of what is not declared")
	}
}

// TestDeferred: only the records of calls that a loop defers need memory.
func TestDeferred(t *testing.T) {
	p := load(t, "d.go", "package d\n\nfunc once(f func()) {\n\tdefer f()\n}\n\nfunc each(fs []func()) {\n"+
		"\tfor _, f := range fs {\n\t\tdefer f()\n\t}\n}\n")
	got := map[string]Kind{}
	for _, s := range p.Sites() {
		got[s.Func.Name()] = s.Kind
	}
	if want := map[string]Kind{"once": Call, "each": Defer}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestStoredBehindParameters: what one parameter's field leads to is what the function put there before.
func TestStoredBehindParameters(t *testing.T) {
	p := load(t, "l.go", `package l

type el struct {
	next, prev *el
	value      any
}

func insert(e, at *el) *el {
	e.prev = at
	e.prev.next = e
	return e
}

func push(root *el, v [3]int) { insert(&el{value: v}, root) }
`)
	for _, s := range p.Sites() {
		if s.Func.Name() == "push" && s.Kind != Call && p.Fate(s.Value).Dies() {
			t.Errorf("%v dies in push, and root has it", s.Kind)
		}
	}
}

// TestContractsOfMethods: a method is one that the standard library describes by what it takes, not by its name alone.
func TestContractsOfMethods(t *testing.T) {
	p := load(t, "r.go", `package r

import "regexp"

type node struct{ next *node }

type list struct{ first *node }

func (l *list) Read(n *node) { l.first = n }

type reader interface{ Read(*node) }

func keeps(r reader) { r.Read(&node{}) }

type source interface{ Read([]byte) (int, error) }

func reads(s source) { s.Read(make([]byte, 8)) }

func matches(r *regexp.Regexp) bool { return r.Match(make([]byte, 8)) }
`)
	dies := map[string]bool{}
	for _, s := range p.Sites() {
		if s.Kind != Call {
			dies[s.Func.Name()] = p.Fate(s.Value).Dies()
		}
	}
	if want := map[string]bool{"keeps": false, "reads": true, "matches": true}; !maps.Equal(dies, want) {
		t.Errorf("dies in its function: %v, want %v", dies, want)
	}
}

// TestConcatenations: texts are joined at once within one expression, and not across statements.
func TestConcatenations(t *testing.T) {
	p := load(t, "c.go", "package c\n\nfunc f(a, b, c string) (s string) {\n\ts = a + b + c\n\ts += a + b\n\ts += c\n"+
		"\treturn s\n}\n")
	var lines []int
	for _, s := range p.Sites() {
		if s.Kind == Concat {
			lines = append(lines, s.From)
		}
	}
	if want := []int{4, 5, 6}; !slices.Equal(lines, want) {
		t.Errorf("concatenations in lines %v, want %v", lines, want)
	}
}

func TestKinds(t *testing.T) {
	if got := Call.String() + ", " + Kind(-1).String() + ", " + Kind(77).String(); got != "call, Kind(-1), Kind(77)" {
		t.Error(got)
	}
}
