package advise_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/isobar-go/isobar/advise"
	"github.com/isobar-go/isobar/advise/check"
)

// Analyzers runs under any driver of go/analysis. Lookup finds a check and its documentation.
// Nothing proves that join runs often, so only ReportAll shows the finding.
func Example() {
	growing := advise.Lookup("concatloop")
	growing.ReportAll(true)
	defer growing.ReportAll(false)
	const src = `package names

func join(names []string) string {
	all := ""
	for _, name := range names {
		all += name + ","
	}
	return all
}
`
	pkg, err := parsed("names.go", src)
	if err != nil {
		fmt.Println(err)
		return
	}
	graph, err := checker.Analyze(advise.Analyzers(), []*packages.Package{pkg}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, action := range graph.Roots {
		for _, d := range action.Diagnostics {
			fmt.Printf("%s: %s: %s\n", pkg.Fset.Position(d.Pos), action.Analyzer.Name, d.Message)
		}
	}
	summary, _, _ := strings.Cut(growing.Doc, "\n")
	fmt.Println(summary)
	// Output:
	// names.go:6:3: concatloop: all is copied whole each time it grows; collect it in a strings.Builder
	// a string that grows by += in a loop
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
