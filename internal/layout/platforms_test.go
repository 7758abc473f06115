package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestPlatforms checks the types of all code, tests included, for the platforms that no test runs on. It reads
// the standard library's sources instead of compiling them, which takes a fifteenth of a build's time, and of
// code that is not ours only what it declares; make cross compiles and links what has code of its own for arm64.
func TestPlatforms(t *testing.T) {
	for _, on := range []struct {
		dir, packages string
		env           []string
	}{
		{"../..", "./...", []string{"GOOS=linux", "GOARCH=arm64"}},
		{"../..", "./...", []string{"GOOS=darwin", "GOARCH=arm64"}},
		{"../..", "./...", []string{"GOOS=windows", "GOARCH=amd64"}},
		{"../..", "./internal/lab/workload", []string{"GOEXPERIMENT=arenas"}},
		{"../../bench", "./arena", []string{"GOEXPERIMENT=arenas"}},
	} {
		for _, err := range typeErrors(t, on.dir, on.packages, on.env...) {
			t.Errorf("%v: %v", on.env, err)
		}
	}
}

func TestPlatformsFindsWhatItShould(t *testing.T) {
	errs := fmt.Sprint(typeErrors(t, "testdata/windows", "./...", "GOOS=windows", "GOARCH=amd64", "GOWORK=off"))
	for _, want := range []string{"size.go:8:9: undefined: blocks", "size_test.go:9:16: undefined: syscall.Statfs_t"} {
		if !strings.Contains(errs, want) {
			t.Errorf("errors %s, want %s", errs, want)
		}
	}
	if errs := typeErrors(t, "testdata/windows", "./...", "GOOS=linux", "GOWORK=off"); len(errs) > 0 {
		t.Errorf("on Linux: %v, want no error", errs)
	}
}

// typeErrors loads the packages of a module, and returns what is wrong in its code and with its imports.
func typeErrors(t *testing.T, dir, pattern string, env ...string) (errs []packages.Error) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pkgs, err := packages.Load(&packages.Config{
		// What LoadAllSyntax needs, but for the facts about each expression.
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedModule,
		Tests: true, Dir: dir, Env: append(os.Environ(), env...),
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			file, err := parser.ParseFile(fset, name, src, parser.AllErrors|parser.SkipObjectResolution)
			// The main package of a test is generated outside the tree.
			if file != nil && !strings.HasPrefix(name, root) && file.Name.Name != "main" {
				leaveOutBodies(file)
			}
			return file, err
		},
	}, pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) == 0 {
		t.Errorf("%v: no package matches %s", env, pattern)
	}
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		for _, err := range p.Errors {
			// A package without the bodies of its functions has imports and results that nothing uses.
			if err.Kind != packages.TypeError || p.Module != nil && p.Module.Main {
				errs = append(errs, err)
			}
		}
	})
	return errs
}

func leaveOutBodies(file *ast.File) {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
			f.Body.List = nil
		}
	}
}
