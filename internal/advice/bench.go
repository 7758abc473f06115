package advice

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // for endsSource
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A testPackage is a package and its tests, as go list describes them.
type testPackage struct {
	ImportPath, Dir, Name     string
	TestGoFiles, XTestGoFiles []string
	Deps                      []string
	TestImports, XTestImports []string

	benches []string // declared by its tests
}

// imports reports whether the tests of p may run code of pkg: pkg is p, or is imported
// by p or its tests.
func (p *testPackage) imports(pkg string) bool {
	return p.ImportPath == pkg || slices.Contains(p.Deps, pkg) || slices.Contains(p.TestImports, pkg) ||
		slices.Contains(p.XTestImports, pkg)
}

var benchmarkDecl = regexp.MustCompile(`(?m)^func (Benchmark\w*)\(`)

// testPackages returns the packages that match; without patterns, the package of the directory.
func (c command) testPackages(ctx context.Context, patterns []string) ([]*testPackage, error) {
	out, err := c.run(ctx, "go", append([]string{"list",
		"-json=ImportPath,Dir,Name,TestGoFiles,XTestGoFiles,Deps,TestImports,XTestImports", "--"}, patterns...)...)
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

// benchPackages returns the matching packages whose tests declare benchmarks.
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
			p.benches = append(p.benches, names(benchmarkDecl, string(src))...)
		}
		if len(p.benches) > 0 {
			with = append(with, p)
		}
	}
	return with, nil
}

// profileTime is how long each benchmark runs under profiles at most, and leastTime the least where there are many for
// the budget.
var profileTime = 300 * time.Millisecond

const leastTime = 10 * time.Millisecond

// profileRate is the mean number of bytes between two samples of allocations beside the CPU profile, which samples
// disturb. A second run counts every allocation.
var profileRate = 16 << 10

//go:embed assets/ends_test.go.txt
var endsSource string

// A profiling runs benchmarks under profiles, and collects what comes of it.
type profiling struct {
	Config
	bench, dir     string
	progress       func(string)
	names, leftOut []string
	failed         error
	ran            bool
	runs           int
	chosen         *regexp.Regexp // the benchmarks, without their parts; nil for all
	left           int            // of these, in the packages that are not done
	cuts           []cut
	missed         []string // packages that are not in the profiles, or not all of them
}

// A cut is what ran as the time for a package's benchmarks was over.
type cut struct {
	pkg, benchmarks string
	after           time.Duration
}

// Profile runs the benchmarks of the packages that match bench, a regular expression as in go test,
// under a CPU and an allocation profile, and leaves the profiles in dir. It returns the names of the
// readable profiles, and notes on what is left out: failing benchmarks, unreadable profiles, and what
// the end of half of the budget cuts. It fails if nothing is left.
func Profile(ctx context.Context, c Config, bench, dir string, progress func(string)) (names, leftOut []string,
	err error) {
	within, cancel := c.within(ctx, 2)
	defer cancel()
	pkgs, err := command{dir: c.Dir}.benchPackages(within, c.Patterns)
	if err != nil {
		return nil, nil, c.ended(ctx, err, "the packages were listed")
	}
	r := &profiling{Config: c, bench: bench, dir: dir, progress: progress}
	top, _, _ := strings.Cut(bench, "/")
	if r.chosen, err = regexp.Compile(top); err != nil {
		r.chosen = nil // the cut at the slash broke it
	}
	for _, p := range pkgs {
		r.left += r.of(p, nil)
	}
	for _, p := range pkgs {
		before := len(r.names)
		err := r.profile(within, p)
		r.left -= r.of(p, nil)
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		switch {
		case err != nil && within.Err() != nil:
			err = c.ended(ctx, err, "all benchmarks ran")
			r.missed = append(r.missed, p.ImportPath)
			r.failed = errors.Join(r.failed, fmt.Errorf("advise: bench: %s: %w", p.ImportPath, err))
		case err != nil:
			r.failed = errors.Join(r.failed, fmt.Errorf("advise: bench: %s: %w; fix the benchmarks, or choose others "+
				"with --bench", p.ImportPath, err))
			if len(r.names) > before { // of those that were cut
				r.leave(someFail, p.ImportPath)
			} else {
				r.leave("the benchmarks of %s fail and are left out: run them with go test -bench", p.ImportPath)
			}
		}
	}
	switch {
	case r.ran:
		return r.names, append(r.leftOut, r.late()...), nil
	case r.failed != nil:
		return nil, nil, r.failed
	}
	packages := cmp.Or(strings.Join(c.Patterns, " "), ".")
	if bench == "." {
		return nil, nil, fmt.Errorf("advise: bench: %s has no benchmark; write one of what has to be fast (func "+
			"BenchmarkX(b *testing.B) in a _test.go file), or give a profile of the running program with --profile", packages)
	}
	return nil, nil, fmt.Errorf("advise: bench: no benchmark of %s matches %q; give the packages that hold them", packages,
		bench)
}

// late says what the end of the budget left out.
func (r *profiling) late() (notes []string) {
	var names []string
	for _, c := range r.cuts {
		if name := c.benchmarks + " of " + c.pkg; !slices.Contains(names, name) { // it runs twice
			names = append(names, name)
		}
	}
	switch n := len(names); {
	case n == 1:
		notes = append(notes, fmt.Sprintf("the benchmarks of %s were cut after %v, while %s ran: what was seen until then "+
			"counts; give more with --budget", r.cuts[0].pkg, r.cuts[0].after, r.cuts[0].benchmarks))
	case n > 1:
		notes = append(notes, fmt.Sprintf("%d benchmarks were cut when their share of the time was over, and count as far "+
			"as they ran: %s; give more with --budget", n, few(names)))
	}
	if len(r.missed) > 0 {
		notes = append(notes, fmt.Sprintf("not in the profiles, or not all of them, as the time ended before all benchmarks "+
			"ran: %s; give more with --budget, which is %v", few(r.missed), r.Budget))
	}
	return notes
}

// few is a list of names, of which only the first are spelled out.
func few(names []string) string {
	const most = 3
	if n := len(names); n > most {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(names, ", ")
}

// of is how many benchmarks of a package are not done yet.
func (r *profiling) of(p *testPackage, done []string) (n int) {
	for _, name := range p.benches {
		if !slices.Contains(done, name) && (r.chosen == nil || r.chosen.MatchString(name)) {
			n++
		}
	}
	return n
}

// share is the part of the remaining time for one of the coming runs of a package's benchmarks that are not done: as
// many as they are among all of these, but no more than half, as one of them may never end.
func (r *profiling) share(p *testPackage, done []string, runs int) float64 {
	these := r.of(p, done)
	return min(0.5, float64(max(1, these))/float64(max(1, r.left-r.of(p, nil)+these)*runs))
}

// each is how long each of n benchmarks runs, for all of them to end within a limit. Most run about twice as long until
// testing knows how often, and some have parts.
func each(limit time.Duration, n int) time.Duration {
	return max(leastTime, min(profileTime, limit/time.Duration(4*max(1, n))))
}

// build compiles the tests of a package with a file that ends them in time.
func (r *profiling) build(ctx context.Context, p *testPackage) (binary string, err error) {
	name, over := p.Name, overlay{}
	if len(p.TestGoFiles) == 0 {
		name += "_test"
	}
	text := strings.Replace(endsSource, "package ends", "package "+name, 1)
	if err := over.add(r.dir, filepath.Join(p.Dir, "isobar_ends_test.go"), []byte(text)); err != nil {
		return "", err
	}
	file, err := over.write(r.dir)
	if err != nil {
		return "", err
	}
	binary = filepath.Join(r.dir, "profiled.test")
	return binary, command{dir: r.Dir}.compile(ctx, binary, p.ImportPath, "-overlay="+file)
}

// What tests print of a finished benchmark, and the stack of an unfinished one.
var (
	benchmarkDone = regexp.MustCompile(`(?m)^(Benchmark[^\s/]*?)(-\d+)?[\s/]`)
	benchmarkRuns = regexp.MustCompile(`(?m)^\S+\.(Benchmark[^\s.(]*)[.(]`)
)

// profile runs the benchmarks of a package, and again for their allocations alone if
// there is time. A benchmark that allocates much runs fewer iterations the second time,
// and so weighs less beside others; the proportions of its own sites are exact.
func (r *profiling) profile(ctx context.Context, p *testPackage) error {
	r.progress(fmt.Sprintf("benchmarks of %s under profiles", p.ImportPath))
	binary, err := r.build(ctx, p)
	if err != nil {
		return err
	}
	defer os.Remove(binary)
	first, _, err := r.under(ctx, p, binary, 2, profileRate, "cpu", "allocs")
	before := len(r.names)
	r.names = append(r.names, first...)
	if err != nil || profileRate == 1 {
		return err
	}
	notes, cuts := r.leftOut, r.cuts
	again, whole, err := r.under(ctx, p, binary, 1, 1, "allocs")
	if err != nil || !whole || len(again) == 0 {
		r.leftOut, r.cuts = notes, cuts // what the first run found stays
		return nil
	}
	cpu := slices.DeleteFunc(first, func(name string) bool { return strings.HasSuffix(name, ".allocs.pb.gz") })
	r.names = slices.Concat(r.names[:before], cpu, again)
	return nil
}

var profileFlags = map[string]string{"cpu": "-test.cpuprofile=", "allocs": "-test.memprofile="}

// under runs the benchmarks under profiles of the given kinds; runs counts this run and those to come. It returns the
// names of the profiles that can be read, and whether all benchmarks ran. When their share of the time is over, the
// benchmark that runs is cut, and those after it run in another process.
func (r *profiling) under(ctx context.Context, p *testPackage, binary string, runs, rate int,
	kinds ...string) (read []string, whole bool, err error) {
	flags := []string{"-test.run=^$", "-test.bench=" + r.bench, fmt.Sprint("-test.memprofilerate=", rate)}
	in := command{p.Dir, []string{"PWD=" + p.Dir}}
	var done []string
	for {
		var profiles []string
		this := slices.Clone(flags)
		for _, kind := range kinds {
			profiles = append(profiles, filepath.Join(r.dir, fmt.Sprint(r.runs, ".", kind, ".pb.gz")))
			this = append(this, profileFlags[kind]+profiles[len(profiles)-1])
		}
		r.runs++
		if len(done) > 0 {
			this = append(this, "-test.skip="+pattern(done))
		}
		limit, benchtime := time.Duration(0), profileTime
		if end, ok := ctx.Deadline(); ok {
			limit = time.Duration(float64(time.Until(end)) * r.share(p, done, runs))
			in.env = []string{in.env[0], fmt.Sprint("ISOBAR_ENDS=", limit)}
			benchtime = each(limit, r.of(p, done))
		}
		this = append(this, fmt.Sprint("-test.benchtime=", benchtime))
		out, err := in.run(ctx, binary, this...)
		if ctx.Err() != nil {
			return read, false, ctx.Err()
		}
		text, stacks, over := strings.Cut(string(out), "\nisobar: the time is over\n")
		if !over {
			if panics := r.panics(p, done, err); len(panics) > 0 {
				done = append(done, panics...)
				continue // the others lost their profiles with it
			}
			last, err := r.keep(p, profiles, text, err)
			return append(read, last...), true, err
		}
		late, ended := names(benchmarkRuns, stacks), names(benchmarkDone, text)
		switch {
		case len(late)+len(ended) > 0:
		case len(done) > 0: // it waits after the last one
			return read, false, nil
		default:
			return read, false, fmt.Errorf("no benchmark had begun after %v, as if its TestMain waited: give more with --budget",
				limit.Round(10*time.Millisecond))
		}
		if len(late) > 0 { // or the time was over between two, which takes a collection
			r.cuts = append(r.cuts, cut{p.ImportPath, strings.Join(late, ", "), limit.Round(10 * time.Millisecond)})
		}
		read = append(read, r.read(p, profiles)...)
		done = slices.Concat(done, ended, late)
	}
}

// panics returns the benchmarks that ended a run by a panic, if others are left.
func (r *profiling) panics(p *testPackage, done []string, failed error) []string {
	if failed == nil || !strings.Contains(failed.Error(), "\ngoroutine ") {
		return nil
	}
	found := names(benchmarkRuns, failed.Error())
	if all := slices.Concat(done, found); len(found) == 0 || r.of(p, all) == 0 || r.of(p, all) == r.of(p, done) {
		return nil
	}
	r.leave("%s of %s panics, and is left out; run it with go test -bench", strings.Join(found, ", "), p.ImportPath)
	return found
}

const someFail = "benchmarks of %s fail: what the others there do is explained; run them with go test -bench"

// leave adds a note on what is left out, once.
func (r *profiling) leave(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(r.leftOut, note) {
		r.leftOut = append(r.leftOut, note)
	}
}

// names returns the matches of an expression in a text, each once.
func names(of *regexp.Regexp, text string) (all []string) {
	for _, found := range of.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(all, found[1]) {
			all = append(all, found[1])
		}
	}
	return all
}

// keep takes the profiles of benchmarks that ended, with or without an error.
func (r *profiling) keep(p *testPackage, profiles []string, out string, failed error) ([]string, error) {
	if failed != nil && strings.Contains(out, " ns/op") { // testing goes on after one that fails
		if _, unread := readProfile(context.Background(), profiles[len(profiles)-1]); unread == nil {
			r.leave(someFail, p.ImportPath)
			failed = nil
		}
	}
	if failed != nil || !strings.Contains(out, "\nBenchmark") {
		return nil, failed
	}
	return r.read(p, profiles), nil
}

// read returns the names of the readable profiles.
func (r *profiling) read(p *testPackage, profiles []string) (names []string) {
	r.ran = true
	for _, name := range profiles {
		if err := entered(name); err != nil {
			r.leave("a profile of %s is left out: %v; does its TestMain run the tests more than once?", p.ImportPath, err)
			continue
		}
		names = append(names, name)
	}
	return names
}
