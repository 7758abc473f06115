package advice

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/isobar-go/isobar/internal/show/text"
)

// A judge measures a remedy: a top-level benchmark, or a test that is repeated like one.
type judge struct {
	pkg  *testPackage
	name string
	sub  string // regular expressions for the parts of a benchmark, beginning with a slash; "" for all
}

func (b judge) String() string { return path.Base(b.pkg.ImportPath) + "." + b.name }

func (b judge) test() bool { return strings.HasPrefix(b.name, "Test") }

// flags returns the flags that run the judge alone: a number of times, as in 5x, or a
// benchmark for a duration.
func (b judge) flags(times string) []string {
	if b.test() {
		return []string{"-test.run=^" + b.name + "$", "-test.count=" + strings.TrimSuffix(times, "x")}
	}
	return []string{"-test.run=^$", "-test.bench=^" + b.name + "$" + b.sub, "-test.benchtime=" + times}
}

// A seen counts the objects that a judge allocates in the code of a remedy.
type seen struct{ lines, functions int64 }

// judges returns those that allocate at the lines of the remedy or in the functions around them: by turns those that
// allocate most and least there. What helps the one may harm the other.
func (m *remedy) judges() (all []judge) {
	sorted := slices.SortedFunc(maps.Keys(m.seen), func(a, b judge) int {
		return cmp.Or(cmp.Compare(m.seen[b].lines, m.seen[a].lines), cmp.Compare(m.seen[b].functions, m.seen[a].functions),
			strings.Compare(a.String(), b.String()))
	})
	for len(sorted) > 0 {
		all, sorted = append(all, sorted[0]), sorted[1:]
		slices.Reverse(sorted)
	}
	return all
}

// tally adds what a judge allocates with a stack.
func (m *remedy) tally(b judge, stack []profile.Line, objects int64) {
	var s seen
	for _, f := range stack {
		if !slices.Contains(m.pkgs, packageOf(f.Function.Name)) {
			continue
		}
		if slices.ContainsFunc(m.finding.Spans, func(s span) bool {
			return path.Base(filepath.ToSlash(f.Function.Filename)) == filepath.Base(s.File) && s.From <= int(f.Line) &&
				int(f.Line) <= s.To
		}) {
			s.lines = objects
		}
		_, name, _ := strings.Cut(shortName(f.Function.Name), ".")
		if slices.ContainsFunc(m.functions, func(f string) bool { return strings.HasPrefix(name+".", f+".") }) {
			s.functions = objects
		}
	}
	if s == (seen{}) {
		return
	}
	was := m.seen[b]
	m.seen[b] = seen{was.lines + s.lines, was.functions + s.functions}
}

// findJudges finds what allocates in the code of the remedies. Profiles of benchmarks
// tell for the benchmarks that they cover. For remedies without a judge, each benchmark
// is run once, alone, and then each test.
func (v *verifier) findJudges(ctx context.Context, remedies []*remedy) error {
	all, err := v.benchPackages(ctx, v.Patterns)
	if err != nil {
		return err
	}
	if err := v.sampled(ctx, all, remedies); err != nil {
		return err
	}
	if err := v.search(ctx, "Benchmark", all, remedies); err != nil || v.Bench != "" {
		return err
	}
	var pkgs []string
	for _, r := range unjudged(remedies) {
		pkgs = append(pkgs, r.pkgs...)
	}
	if len(pkgs) == 0 {
		return nil
	}
	own, err := v.testPackages(ctx, pkgs)
	if err != nil {
		return ctx.Err() // what 'go list' does not know has no tests
	}
	return v.search(ctx, "Test", own, remedies)
}

// unjudged returns the remedies that can be tried, but have no judge.
func unjudged(remedies []*remedy) []*remedy {
	return slices.DeleteFunc(slices.Clone(remedies), func(r *remedy) bool { return r.broken != nil || len(r.seen) > 0 })
}

// sampled finds judges in the profiles of benchmarks: a stack ends in its benchmark.
func (v *verifier) sampled(ctx context.Context, all []*testPackage, remedies []*remedy) error {
	if v.sub != "" {
		return nil // profiles do not distinguish the parts of a benchmark
	}
	rest := unjudged(remedies)
	for _, name := range v.Profiles {
		if remote(name) {
			continue // a running program is no benchmark, and its profile has changed
		}
		p, err := readProfile(ctx, name)
		if err != nil {
			return err
		}
		if !benchmarked(p) {
			continue
		}
		v.count(p, rest, func(stack []profile.Line) (judge, bool) {
			b, ok := v.timings.benchmark(stack)
			i := slices.IndexFunc(all, func(p *testPackage) bool { return p.ImportPath == b.pkg })
			if !ok || i < 0 {
				return judge{}, false
			}
			return judge{all[i], b.name, ""}, v.top.MatchString(b.name)
		})
	}
	return nil
}

// count adds what judges allocate in the code of remedies, by a profile; of returns the judge of a stack.
func (v *verifier) count(p *profile.Profile, remedies []*remedy, of func([]profile.Line) (judge, bool)) {
	for stack, t := range v.timings.timed(p) {
		if b, ok := of(stack); ok {
			for _, r := range remedies {
				r.tally(b, stack, t.Objects)
			}
		}
	}
}

// Limits of the search for judges.
const (
	single    = 20 * time.Second // one run of a benchmark or test; slower ones judge nothing
	mostTests = 200              // of a package
)

// search runs benchmarks or tests of the packages once, each alone, for the remedies without a judge.
func (v *verifier) search(ctx context.Context, kind string, pkgs []*testPackage, remedies []*remedy) error {
	rest := unjudged(remedies)
	for _, p := range pkgs {
		if !slices.ContainsFunc(rest, func(r *remedy) bool { return slices.ContainsFunc(r.pkgs, p.imports) }) {
			continue
		}
		if past(v.searchEnds) {
			return nil
		}
		binary, err := v.build(ctx, v.command, p)
		if err != nil {
			continue // nothing here can judge anything
		}
		list, err := command{p.Dir, v.env}.run(ctx, binary, "-test.list=^"+kind)
		if err != nil {
			continue
		}
		names := slices.DeleteFunc(strings.Fields(string(list)), func(name string) bool {
			return !strings.HasPrefix(name, kind) || !v.top.MatchString(name)
		})
		for i, name := range names {
			if past(v.searchEnds) || kind == "Test" && i == mostTests {
				break
			}
			v.say("what " + name + " of " + p.ImportPath + " runs")
			b := judge{p, name, v.sub}
			within, cancel := context.WithTimeout(ctx, single)
			ran, err := v.observe(within, b, binary, "1x")
			cancel()
			if err == nil {
				v.count(ran, rest, func([]profile.Line) (judge, bool) { return b, true })
			}
		}
	}
	return ctx.Err()
}

// past reports whether a time is over; the zero time never is.
func past(end time.Time) bool { return !end.IsZero() && time.Now().After(end) }

// observe runs a judge under a profile of all its allocations.
func (v *verifier) observe(ctx context.Context, b judge, binary, times string) (*profile.Profile, error) {
	name := filepath.Join(v.tmp, "exact.pb.gz")
	flags := append(b.flags(times), "-test.timeout=10m", "-test.memprofile="+name, "-test.memprofilerate=1")
	if _, err := (command{b.pkg.Dir, v.env}).run(ctx, binary, flags...); err != nil {
		return nil, err
	}
	return readProfile(ctx, name)
}

func readProfile(ctx context.Context, name string) (*profile.Profile, error) {
	f, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("advise: profile: %s: %w; want a whole CPU, heap or allocs profile in pprof format",
			text.WithoutPasswords(name), err)
	}
	return p, nil
}
