package check_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/isobar-go/isobar/advise/check"
)

// A check is one value. It skips cold lines, such as those of init; without a profile,
// only ReportAll shows the rest.
func Example() {
	madeMaps := check.New(check.Check{
		Name:     "mademaps",
		Severity: check.Advice,
		Doc:      "a map that is made in a loop",
		When:     "the loop is hot.",
		WhenNot:  "init, main, tests.",
		Measured: "1 allocation -> 0",
		Run: func(p *check.Pass) {
			for cur := range p.Root.Preorder((*ast.CompositeLit)(nil)) {
				if _, ok := p.TypeOf(cur.Node().(ast.Expr)).Underlying().(*types.Map); ok && !p.Cold(cur) {
					p.Report(cur.Node(), "a map each time; clear one")
				}
			}
		},
	})
	madeMaps.ReportAll(true)
	pkg, err := parsed("maps.go", `package maps

var made int

func count(files [][]string) {
	for _, lines := range files {
		for _, line := range lines {
			made += len(map[string]int{line: 1})
		}
	}
}

func init() {
	made = len(map[string]int{"one": 1})
}
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{madeMaps.Analyzer}, []*packages.Package{pkg}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, action := range graph.Roots {
		for _, d := range action.Diagnostics {
			fmt.Printf("%s: %s: %s\n", pkg.Fset.Position(d.Pos), d.Category, d.Message)
		}
	}
	// Output:
	// maps.go:8:16: advice: a map each time; clear one
}

// parsed type-checks a package of one file without imports. For packages of a module
// use packages.Load.
func parsed(name, src string) (*packages.Package, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	info := check.NewInfo()
	sizes := types.SizesFor("gc", "amd64")
	config := types.Config{Sizes: sizes, GoVersion: "go1.26"}
	pkg, err := config.Check(file.Name.Name, fset, []*ast.File{file}, info)
	if err != nil {
		return nil, err
	}
	return &packages.Package{
		ID: pkg.Path(), PkgPath: pkg.Path(), Name: pkg.Name(), Fset: fset, Syntax: []*ast.File{file},
		Types: pkg, TypesInfo: info, TypesSizes: sizes,
	}, nil
}
