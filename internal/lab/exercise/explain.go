package exercise

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
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

// words are the texts of All in order: a line with name and difficulty, then the trade-off, when not, and the
// declarations to show of the code before and after. Continuation lines are indented.
//
//go:embed words.txt
var words string

var explanations = sync.OnceValue(func() (all []*Explanation) {
	code := declarations()
	for block := range strings.SplitSeq(strings.TrimSpace(words), "\n\n") {
		e, fields := &Explanation{Number: len(all) + 1}, map[string]string{}
		for i, line := range strings.Split(strings.ReplaceAll(block, "\n  ", " "), "\n") {
			if i == 0 {
				fmt.Sscan(line, &e.Name, &e.Difficulty)
				continue
			}
			name, text, _ := strings.Cut(line, ": ")
			fields[name] = text
		}
		show := func(names string) string {
			var parts []string
			for name := range strings.FieldsSeq(names) {
				parts = append(parts, code[name]...)
			}
			return strings.Join(parts, "\n")
		}
		e.TradeOff, e.WhenNot = fields["trade-off"], fields["when not"]
		e.Before, e.After = show(fields["before"]), show(fields["after"])
		all = append(all, e)
	}
	return all
})

//go:embed text.go
var textSource string

//go:embed object.go
var objectSource string

// declarations returns the code of the exercises by name: functions, methods, and single types,
// variables and constants.
func declarations() map[string][]string {
	all, fset := map[string][]string{}, token.NewFileSet()
	add := func(name *ast.Ident, d ast.Node) {
		var b strings.Builder
		if err := format.Node(&b, fset, d); err != nil {
			panic("exercise: " + err.Error()) // it was parsed
		}
		all[name.Name] = append(all[name.Name], b.String()+"\n")
	}
	for _, text := range []string{textSource, objectSource} {
		file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
		if err != nil {
			panic("exercise: " + err.Error()) // it compiles
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				add(d.Name, d)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					one := &ast.GenDecl{Tok: d.Tok, TokPos: spec.Pos(), Specs: []ast.Spec{spec}}
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(spec.Name, one)
					case *ast.ValueSpec:
						add(spec.Names[0], one)
					}
				}
			}
		}
	}
	return all
}
