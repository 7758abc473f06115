package advice

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A testPackage is a package with benchmarks.
type testPackage struct {
	ImportPath, Dir           string
	TestGoFiles, XTestGoFiles []string
	Deps                      []string
	TestImports, XTestImports []string
}

// imports reports whether the tests of p may run code of pkg: it is p, or
// something that p or its tests import.
func (p *testPackage) imports(pkg string) bool {
	return p.ImportPath == pkg || slices.Contains(p.Deps, pkg) || slices.Contains(p.TestImports, pkg) ||
		slices.Contains(p.XTestImports, pkg)
}

var benchmarkDecl = regexp.MustCompile(`(?m)^func Benchmark\w*\(`)

// testPackages returns the packages that match.
func (c command) testPackages(ctx context.Context, patterns []string) ([]*testPackage, error) {
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	out, err := c.run(ctx, "go", append([]string{"list",
		"-json=ImportPath,Dir,TestGoFiles,XTestGoFiles,Deps,TestImports,XTestImports", "--"}, patterns...)...)
	if err != nil {
		return nil, fmt.Errorf("advise: bench: %w", err)
	}
	var all []*testPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p testPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("advise: bench: go list: %w", err)
		}
		all = append(all, &p)
	}
}

// benchPackages returns the packages that match and whose tests declare
// benchmarks.
func (c command) benchPackages(ctx context.Context, patterns []string) (with []*testPackage, err error) {
	all, err := c.testPackages(ctx, patterns)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			src, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, fmt.Errorf("advise: bench: %w", err)
			}
			if benchmarkDecl.Match(src) {
				with = append(with, p)
				break
			}
		}
	}
	return with, nil
}

// profileRate is the mean number of bytes between two samples of allocations:
// finer than the runtime's default, because benchmarks are short.
const profileRate = 16 << 10

// profileTime is how long each benchmark runs under profiles.
var profileTime = "300ms"

// Profile runs the benchmarks of the packages that match bench, a regular
// expression as go test takes it, under a CPU and an allocation profile, and
// leaves the profiles in dir. It returns the names of those that can be read,
// and says what is left out: benchmarks that fail, and profiles that cannot be
// read. It fails where nothing is left.
func Profile(ctx context.Context, c Config, bench, dir string, progress func(string)) (names, leftOut []string,
	err error) {
	in := command{dir: c.Dir}
	pkgs, err := in.benchPackages(ctx, c.Patterns)
	if err != nil {
		return nil, nil, err
	}
	var failed error
	ran := false
	for i, p := range pkgs {
		progress(fmt.Sprintf("benchmarks of %s under profiles", p.ImportPath))
		base := filepath.Join(dir, fmt.Sprint(i))
		cpu, mem := base+".cpu.pb.gz", base+".allocs.pb.gz"
		out, err := in.run(ctx, "go", "test", "-vet=off", "-run", "^$", "-bench", bench, "-benchtime", profileTime, "-o",
			base+".test", "-cpuprofile", cpu, "-memprofile", mem, "-memprofilerate", fmt.Sprint(profileRate), p.ImportPath)
		os.Remove(base + ".test")
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if err != nil && bytes.Contains(out, []byte(" ns/op")) { // testing goes on after one that fails
			if _, unread := readProfile(ctx, mem); unread == nil {
				leftOut = append(leftOut, fmt.Sprintf("benchmarks of %s fail: what the others there do is explained; "+
					"run them with go test -bench", p.ImportPath))
				err = nil
			}
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("advise: bench: %s: %w; fix the benchmarks, or choose others with --bench",
				p.ImportPath, err))
			leftOut = append(leftOut, fmt.Sprintf("the benchmarks of %s fail and are left out: run them with go test -bench",
				p.ImportPath))
			continue
		}
		if !bytes.Contains(out, []byte("\nBenchmark")) {
			continue
		}
		ran = true
		for _, name := range []string{cpu, mem} {
			if _, err := readProfile(ctx, name); err != nil {
				leftOut = append(leftOut, fmt.Sprintf("a profile of %s is left out: %v; does its TestMain run the tests more "+
					"than once?", p.ImportPath, err))
				continue
			}
			names = append(names, name)
		}
	}
	switch {
	case ran:
		return names, leftOut, nil
	case failed != nil:
		return nil, nil, failed
	}
	packages := cmp.Or(strings.Join(c.Patterns, " "), ".")
	if bench == "." {
		return nil, nil, fmt.Errorf("advise: bench: %s has no benchmark; write one of what has to be fast (func "+
			"BenchmarkX(b *testing.B) in a _test.go file), or give a profile of the running program with --profile", packages)
	}
	return nil, nil, fmt.Errorf("advise: bench: no benchmark of %s matches %q; give the packages that hold them", packages,
		bench)
}
