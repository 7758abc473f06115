package advice

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/cover"
)

// A benchmark is a top-level benchmark of a package.
type benchmark struct {
	pkg  *testPackage
	name string
	sub  string // regular expressions for its parts, beginning with a slash; "" for all
}

func (b benchmark) String() string { return path.Base(b.pkg.ImportPath) + "." + b.name }

// A block is a stretch of code as the cover tool sees it, with how often a
// benchmark ran it in one iteration, without what it prepares.
type block struct {
	cover.ProfileBlock
	by benchmark
}

func (b *block) holds(line, column int) bool {
	return (line > b.StartLine || line == b.StartLine && column >= b.StartCol) &&
		(line < b.EndLine || line == b.EndLine && column < b.EndCol)
}

// inside reports whether b lies within c.
func (b *block) inside(c *block) bool {
	return c.holds(b.StartLine, b.StartCol) && b.EndLine <= c.EndLine
}

// reach is what benchmarks ran, by import path and base name of the file.
type reach map[string][]block

// single is the time that a benchmark may take for one iteration; slower ones
// judge nothing, because many of them would be needed.
const single = 20 * time.Second

// A coverage asks what benchmarks run.
type coverage struct {
	pkgs     []*testPackage   // that hold them
	covered  []string         // import paths of what they run
	bench    string           // which of them, as of go test; empty for all
	tmp      string           // directory for temporary files
	wanted   func(reach) bool // whether one that ran this is asked about; nil for all
	until    time.Time        // begin no benchmark after this; zero for no end
	progress func(string)
}

// reaching runs each benchmark of the packages once and records what it ran of
// the covered packages.
func (c command) reaching(ctx context.Context, asked coverage) (reach, error) {
	r := reach{}
	top, sub, _ := strings.Cut(asked.bench, "/")
	if sub != "" {
		sub = "/" + sub
	}
	matches, err := regexp.Compile(top)
	if err != nil {
		return nil, fmt.Errorf("advise: bench: %w; want a regular expression", err)
	}
	for _, p := range asked.pkgs {
		asked.progress("building the benchmarks of " + p.ImportPath + " with coverage")
		at, err := c.covering(ctx, p, asked.tmp, asked.covered)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			continue // no benchmark here can judge anything
		}
		list, err := at.run(ctx, at.binary, "-test.list=^Benchmark")
		if err != nil {
			return nil, fmt.Errorf("advise: bench: %s: %w", p.ImportPath, err)
		}
		for name := range strings.FieldsSeq(string(list)) {
			if !strings.HasPrefix(name, "Benchmark") || !matches.MatchString(name) {
				continue
			}
			if past(asked.until) {
				return r, nil
			}
			asked.progress("what " + name + " of " + p.ImportPath + " runs")
			ran, err := at.reachOf(ctx, benchmark{p, name, sub}, asked.wanted)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err == nil {
				r.add(ran)
			}
		}
	}
	return r, nil
}

// past reports whether a time is over; zero never is.
func past(end time.Time) bool { return !end.IsZero() && time.Now().After(end) }

// A covering runs the tests and benchmarks of a package, which note what they run.
type covering struct {
	command
	binary string
}

// covering builds the tests of a package in a directory for temporary files.
func (c command) covering(ctx context.Context, p *testPackage, tmp string, covered []string) (covering, error) {
	binary := filepath.Join(tmp, "cover.test")
	_, err := c.run(ctx, "go", "test", "-c", "-vet=off", "-o", binary, "-covermode=atomic",
		"-coverpkg="+strings.Join(covered, ","), p.ImportPath)
	return covering{command{p.Dir, c.env}, binary}, err
}

// once returns what a run with these flags runs, and how long it takes.
func (c covering) once(ctx context.Context, by benchmark, flags ...string) (reach, time.Duration, error) {
	profile := filepath.Join(filepath.Dir(c.binary), "cover.out")
	os.Remove(profile)
	within, cancel := context.WithTimeout(ctx, single)
	defer cancel()
	begun := time.Now()
	if _, err := c.run(within, c.binary, append(flags, "-test.coverprofile="+profile)...); err != nil {
		return nil, 0, err
	}
	ran := reach{}
	return ran, time.Since(begun), ran.read(profile, by)
}

// reachOf returns what one benchmark runs: nothing where that is not wanted.
func (c covering) reachOf(ctx context.Context, b benchmark, wanted func(reach) bool) (reach, error) {
	iterate := func(n int) (reach, time.Duration, error) {
		return c.once(ctx, b, "-test.run=^$", "-test.bench=^"+b.name+"$"+b.sub, fmt.Sprintf("-test.benchtime=%dx", n))
	}
	first, took, err := iterate(1)
	if err != nil || wanted != nil && !wanted(first) {
		return nil, err
	}
	return timedReach(func(n int) (reach, time.Duration, error) {
		if n == 1 {
			return first, took, nil
		}
		return iterate(n)
	})
}

// brief is the time within which an iteration must end for a benchmark to run
// several, which tells its preparation from what it times.
const brief = 2 * time.Second

// timedReach returns what one iteration of a benchmark runs. iterate runs it with
// a number of iterations. Two and three of them differ by one, and prepare alike;
// but not one and two, as the testing package begins with one. Where the first
// takes long, its preparation counts, too.
func timedReach(iterate func(n int) (reach, time.Duration, error)) (reach, error) {
	once, took, err := iterate(1)
	if err != nil || took > brief {
		return once, err
	}
	two, _, err := iterate(2)
	if err != nil {
		return nil, err
	}
	three, _, err := iterate(3)
	if err != nil {
		return nil, err
	}
	for file, blocks := range three {
		before := two[file]
		if len(before) != len(blocks) {
			return once, nil
		}
		for i := range blocks {
			was := before[i]
			grown := max(0, blocks[i].Count-was.Count)
			if was.Count = blocks[i].Count; was != blocks[i] {
				return once, nil
			}
			blocks[i].Count = grown
		}
	}
	return three, nil
}

// add adds what another benchmark ran.
func (r reach) add(o reach) {
	for file, blocks := range o {
		r[file] = append(r[file], blocks...)
	}
}

// read adds a cover profile.
func (r reach) read(name string, by benchmark) error {
	profiles, err := cover.ParseProfiles(name)
	if err != nil {
		return fmt.Errorf("advise: coverage: %s: %w", name, err)
	}
	for _, p := range profiles {
		for _, b := range p.Blocks {
			r[p.FileName] = append(r[p.FileName], block{b, by})
		}
	}
	return nil
}

// of returns the benchmarks that run one of the spots: those that run more of
// them first, and of these, those that run one most often.
func (r reach) of(spots ...spot) []benchmark {
	counts, ran := map[benchmark]int{}, map[benchmark]int{}
	for _, s := range spots {
		innermost := map[benchmark]*block{}
		for i := range r[s.file] {
			b := &r[s.file][i]
			if !b.holds(s.line, s.column) {
				continue
			}
			if best := innermost[b.by]; best == nil || b.inside(best) {
				innermost[b.by] = b
			}
		}
		for by, b := range innermost {
			if b.Count > 0 {
				counts[by] = max(counts[by], b.Count)
				ran[by]++
			}
		}
	}
	return slices.SortedFunc(maps.Keys(counts), func(a, b benchmark) int {
		return cmp.Or(cmp.Compare(ran[b], ran[a]), cmp.Compare(counts[b], counts[a]), strings.Compare(a.String(), b.String()))
	})
}

// times returns how often all of them together ran the spot: profiles of
// several packages name a block once for each.
func (r reach) times(s spot) (n int) {
	var best *block
	for i := range r[s.file] {
		b := &r[s.file][i]
		switch {
		case !b.holds(s.line, s.column):
		case best != nil && b.StartLine == best.StartLine && b.StartCol == best.StartCol:
			n += b.Count
		case best == nil || b.inside(best):
			best, n = b, b.Count
		}
	}
	return n
}
