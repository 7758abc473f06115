package layout

import (
	"os"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestPlatforms checks the types of all code, tests included, for the platforms that no test runs on. It reads
// the standard library's sources instead of compiling them, which takes a fifteenth of a build's time; make cross
// compiles and links what has code of its own for arm64.
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
		pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Tests: true, Dir: on.dir,
			Env: append(os.Environ(), on.env...)}, on.packages)
		if err != nil {
			t.Fatal(err)
		}
		if len(pkgs) == 0 {
			t.Errorf("%v: no package matches %s", on.env, on.packages)
		}
		packages.Visit(pkgs, nil, func(p *packages.Package) {
			for _, err := range p.Errors {
				t.Errorf("%v: %v", on.env, err)
			}
		})
	}
}
