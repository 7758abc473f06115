package advice

import (
	"bufio"
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
	fromLine, fromColumn, toLine, toColumn int
	count                                  int
	by                                     benchmark
}

func (b *block) holds(line, column int) bool {
	return (line > b.fromLine || line == b.fromLine && column >= b.fromColumn) &&
		(line < b.toLine || line == b.toLine && column < b.toColumn)
}

// same reports whether b and c are the same stretch of code.
func (b *block) same(c *block) bool {
	return b.fromLine == c.fromLine && b.fromColumn == c.fromColumn && b.toLine == c.toLine && b.toColumn == c.toColumn
}

// inside reports whether b lies within c.
func (b *block) inside(c *block) bool {
	return c.holds(b.fromLine, b.fromColumn) && b.toLine <= c.toLine
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
	binary := filepath.Join(asked.tmp, "cover.test")
	for _, p := range asked.pkgs {
		asked.progress("building the benchmarks of " + p.ImportPath + " with coverage")
		if _, err := c.run(ctx, "go", "test", "-c", "-vet=off", "-o", binary, "-covermode=atomic",
			"-coverpkg="+strings.Join(asked.covered, ","), p.ImportPath); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue // no benchmark here can judge anything
		}
		at := command{p.Dir, c.env}
		list, err := at.run(ctx, binary, "-test.list=^Benchmark")
		if err != nil {
			return nil, fmt.Errorf("advise: bench: %s: %w", p.ImportPath, err)
		}
		for name := range strings.FieldsSeq(string(list)) {
			if !strings.HasPrefix(name, "Benchmark") || !matches.MatchString(name) {
				continue
			}
			if !asked.until.IsZero() && time.Now().After(asked.until) {
				return r, nil
			}
			asked.progress("what " + name + " of " + p.ImportPath + " runs")
			ran, err := at.reachOf(ctx, binary, benchmark{p, name, sub}, asked)
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

// reachOf returns what one benchmark of the binary runs: nothing where that is
// not wanted.
func (c command) reachOf(ctx context.Context, binary string, b benchmark, asked coverage) (reach, error) {
	profile := filepath.Join(asked.tmp, "cover.out")
	iterate := func(n int) (reach, time.Duration, error) {
		os.Remove(profile)
		once, cancel := context.WithTimeout(ctx, single)
		defer cancel()
		begun := time.Now()
		if _, err := c.run(once, binary, "-test.run=^$", "-test.bench=^"+b.name+"$"+b.sub,
			fmt.Sprintf("-test.benchtime=%dx", n), "-test.coverprofile="+profile); err != nil {
			return nil, 0, err
		}
		ran := reach{}
		return ran, time.Since(begun), ran.read(profile, b)
	}
	first, took, err := iterate(1)
	if err != nil || asked.wanted != nil && !asked.wanted(first) {
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
			if b := &before[i]; !b.same(&blocks[i]) {
				return once, nil
			}
			blocks[i].count = max(0, blocks[i].count-before[i].count)
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
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("advise: coverage: %w", err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		file, rest, ok := cutLast(sc.Text(), ":")
		if !ok || file == "mode" {
			continue
		}
		b := block{by: by}
		var statements int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.fromLine, &b.fromColumn, &b.toLine, &b.toColumn, &statements,
			&b.count); err != nil {
			return fmt.Errorf("advise: coverage: %s: %q: %w", name, sc.Text(), err)
		}
		r[file] = append(r[file], b)
	}
	return sc.Err()
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
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
			if b.count > 0 {
				counts[by] = max(counts[by], b.count)
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
		case best != nil && b.fromLine == best.fromLine && b.fromColumn == best.fromColumn:
			n += b.count
		case best == nil || b.inside(best):
			best, n = b, b.count
		}
	}
	return n
}
