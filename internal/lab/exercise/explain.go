package exercise

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// An Explanation describes an exercise beyond its figures.
type Explanation struct {
	Number     int
	Name       string
	Difficulty int    // according to the document, of 5
	TradeOff   string // what the remedy costs
	WhenNot    string // where it is not worth it, with the document's errors corrected
	// Before and After are the functions that the lab runs, with their callees. After
	// leaves out what Before shows.
	Before, After string
}

// String returns one paragraph each for the difficulty, the trade-off, when not, and the code.
func (e *Explanation) String() string {
	code := func(s string) string {
		s = "    " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ")
		return strings.ReplaceAll(s, "\n    \n", "\n\n")
	}
	return fmt.Sprintf("Difficulty: %s\nTrade-off: %s\nWhen not: %s\n\nBefore:\n\n%s\n\nAfter:\n\n%s\n",
		e.Stars(), e.TradeOff, e.WhenNot, code(e.Before), code(e.After))
}

// Stars returns the difficulty in the document's notation.
func (e *Explanation) Stars() string {
	return strings.Repeat("★", e.Difficulty) + strings.Repeat("☆", 5-e.Difficulty)
}

// Explain returns the explanation of an exercise by its number; nil if there is
// no such exercise.
func Explain(number int) *Explanation {
	if number < 1 || number > len(All) {
		return nil
	}
	return explanations()[number-1]
}

var explanations = sync.OnceValue(func() []*Explanation {
	all := readWords()
	src := parseSource()
	for i, e := range all {
		shown := map[ast.Node]bool{}
		e.Before = src.code(All[i].Variants["before"], shown)
		e.After = src.code(All[i].Variants["after"], shown)
	}
	return all
})

// words are the texts of All in order: a line with name and difficulty, then the trade-off and
// when not. Continuation lines are indented.
//
//go:embed words.txt
var words string

func readWords() (all []*Explanation) {
	for block := range strings.SplitSeq(strings.TrimSpace(words), "\n\n") {
		lines := strings.Split(strings.ReplaceAll(block, "\n  ", " "), "\n")
		e := &Explanation{Number: len(all) + 1, TradeOff: strings.TrimPrefix(lines[1], "trade-off: "),
			WhenNot: strings.TrimPrefix(lines[2], "when not: ")}
		fmt.Sscan(lines[0], &e.Name, &e.Difficulty)
		all = append(all, e)
	}
	return all
}

//go:embed text.go
var textSource string

//go:embed object.go
var objectSource string

// A source is the parsed code of the exercises.
type source struct {
	fset  *token.FileSet
	decls []ast.Node            // functions, methods, and single types, variables and constants
	named map[string][]ast.Node // by name; a method also by the name of its type
}

func parseSource() *source {
	s := &source{fset: token.NewFileSet(), named: map[string][]ast.Node{}}
	for _, text := range []string{textSource, objectSource} {
		file, err := parser.ParseFile(s.fset, "", text, parser.SkipObjectResolution)
		if err != nil {
			panic("exercise: " + err.Error()) // it compiles
		}
		for _, d := range file.Decls {
			s.declare(d)
		}
	}
	return s
}

func (s *source) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		s.add(d, d.Name.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			one := &ast.GenDecl{Tok: d.Tok, TokPos: spec.Pos(), Specs: []ast.Spec{spec}}
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				s.add(one, spec.Name.Name)
			case *ast.ValueSpec:
				s.add(one, spec.Names[0].Name)
			}
		}
	}
}

func (s *source) add(d ast.Node, name string) {
	s.decls = append(s.decls, d)
	s.named[name] = append(s.named[name], d)
}

// code returns the declaration of a variant and of everything it uses, except what
// was shown before, in source order.
func (s *source) code(variant func(*Input) uint64, shown map[ast.Node]bool) string {
	full := runtime.FuncForPC(reflect.ValueOf(variant).Pointer()).Name()
	wanted := map[ast.Node]bool{}
	s.collect(full[strings.LastIndexByte(full, '.')+1:], wanted)
	var b strings.Builder
	for _, d := range s.decls {
		if !wanted[d] || shown[d] {
			continue
		}
		shown[d] = true
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if err := format.Node(&b, s.fset, d); err != nil {
			panic("exercise: " + err.Error()) // it was parsed
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// common are checksums and sinks, which are irrelevant to an exercise.
var common = []string{"sinkString", "sinkBytes", "sinkInts", "sinkError", "sinkNode", "sinkHandle", "sumBytes",
	"sumString"}

func (s *source) collect(name string, wanted map[ast.Node]bool) {
	if slices.Contains(common, name) {
		return
	}
	for _, d := range s.named[name] {
		if wanted[d] {
			continue
		}
		wanted[d] = true
		ast.Inspect(d, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				s.collect(id.Name, wanted)
			}
			return true
		})
	}
}
