package advice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/isobar-go/isobar/internal/show/text"
)

// Shares are fractions, from 0 to 1, of what the profiles measured. Those of a finding
// cover what it is about.
type Shares struct {
	Bytes   float64 `json:"alloc_bytes"`
	Objects float64 `json:"alloc_objects"`
	CPU     float64 `json:"cpu"`
}

// String returns the shares in percent, without kinds of profile that have none or were not taken.
func (s Shares) String() string {
	var parts []string
	if s.Bytes > 0 || s.Objects > 0 {
		parts = append(parts, fmt.Sprintf("%.1f %% of bytes, %.1f %% of objects", 100*s.Bytes, 100*s.Objects))
	}
	if s.CPU > 0 {
		parts = append(parts, fmt.Sprintf("%.1f %% of CPU", 100*s.CPU))
	}
	return cmp.Or(strings.Join(parts, ", "), "no sample")
}

// weight returns the key by which findings and lines are sorted: allocations, or CPU
// time if no allocations are known.
func (s *Shares) weight() float64 {
	if s == nil {
		return 0
	}
	if s.Bytes > 0 || s.Objects > 0 {
		return max(s.Bytes, s.Objects)
	}
	return s.CPU
}

func (s *Shares) add(o Shares) {
	s.Bytes += o.Bytes
	s.Objects += o.Objects
	s.CPU += o.CPU
}

// Evidence says how well the profiles explain the code.
type Evidence struct {
	Total   Totals `json:"total"`
	Outside Shares `json:"outside"` // of samples without a line of the packages
	Before  Totals `json:"before"`  // what benchmarks do outside the loops that they time; not part of Total

	Account *Account `json:"account"` // each allocation, and what can be done about it

	Notes []string `json:"notes,omitempty"` // reasons to doubt it
}

// Totals sum up samples of the profiles.
type Totals struct {
	Bytes   int64 `json:"alloc_bytes"`
	Objects int64 `json:"alloc_objects"`
	CPU     int64 `json:"cpu_ns"`
	GC      int64 `json:"gc_cpu_ns"` // the part of CPU that the collector uses

	variance float64 // of Objects, an estimate from samples
	rate     int64   // mean bytes between two samples; of several profiles, the largest
}

func (t *Totals) add(o Totals) {
	t.Bytes += o.Bytes
	t.Objects += o.Objects
	t.CPU += o.CPU
	t.GC += o.GC
	t.variance += o.variance
	t.rate = max(t.rate, o.rate)
}

// sampled records how well a profile knows the number of objects of a size: it samples
// each with probability p = 1-exp(-size/rate), and counts it 1/p times.
func (t *Totals) sampled(size, rate int64) {
	if t.Objects <= 0 || size <= 0 || rate <= 0 {
		return
	}
	p := -math.Expm1(-float64(size) / float64(rate))
	t.variance, t.rate = float64(t.Objects)*(1-p)/p, rate
}

// within returns half of the 95 % confidence interval of Objects, as a fraction of it.
func (t *Totals) within() float64 {
	if t.Objects <= 0 {
		return 0
	}
	return 1.96 * math.Sqrt(t.variance) / float64(t.Objects)
}

// part returns the given share of t.
func (t *Totals) part(share float64) *Totals {
	of := func(n int64) int64 { return int64(math.Round(share * float64(n))) }
	return &Totals{of(t.Bytes), of(t.Objects), of(t.CPU), of(t.GC), share * t.variance, t.rate}
}

// of returns the shares that t has of total.
func (t Totals) of(total Totals) Shares {
	part := func(n, all int64) float64 {
		if all <= 0 {
			return 0
		}
		return float64(n) / float64(all)
	}
	return Shares{Bytes: part(t.Bytes, total.Bytes), Objects: part(t.Objects, total.Objects), CPU: part(t.CPU, total.CPU)}
}

// A place is a line of a file, which has its absolute name.
type place struct {
	file string
	line int
}

// A beginning is where a function begins, in a package's directory. It omits the file: for a
// function that contains only inlined calls, a profile names the file of the callee.
type beginning struct {
	dir, name string
	line      int
}

// A literalAt is where a function literal begins, and in how many it lies, itself included.
type literalAt struct {
	place
	depth int
}

// A joiner charges samples to lines of the packages.
type joiner struct {
	say     func(string)
	files   map[string]string // by names that a profile may use: the absolute name
	lengths map[string]int    // lines of a file
	dirs    map[string]string // of packages
	causes  map[causeKey]*cause
	total   Totals
	outside Totals
	others  map[string]int  // samples outside, by the first package that is not of the standard library
	ignored map[string]bool // files that the build leaves out, and whether a sample lies in them
	beyond  int             // samples at lines that do not exist
	within  int             // and at lines that exist

	benchmarks bool           // the profile being read is of benchmarks
	before     Totals         // what they do outside the loops that they time
	early      map[place]bool // lines that allocate there
	timings    *timings

	starts   map[beginning]bool
	literals map[literalAt]string // their names; "" for several
	inlined  map[string]bool      // functions that are inlined somewhere
	moved    map[string]place     // functions that do not begin where the profiles say, with that place
	still    map[string]bool      // functions that begin where the profiles say
	notes    []string
}

// join reads the profiles and gives each finding its share.
func join(ctx context.Context, c Config, units []*unit, base string, findings []Finding) (*Evidence, error) {
	j := &joiner{
		say: c.say, notes: slices.Clone(c.LeftOut),
		files: map[string]string{}, lengths: map[string]int{}, dirs: map[string]string{},
		starts: map[beginning]bool{}, inlined: map[string]bool{}, moved: map[string]place{}, still: map[string]bool{},
		timings: newTimings(), others: map[string]int{}, causes: map[causeKey]*cause{}, early: map[place]bool{},
		ignored: map[string]bool{}, literals: map[literalAt]string{},
	}
	for _, u := range units {
		j.index(u)
	}
	for _, name := range endpoints(c.Profiles) {
		if err := j.read(ctx, name); err != nil {
			return nil, err
		}
	}
	if j.beyond > j.within/20 { // the compiler itself misplaces a few
		return nil, fmt.Errorf("advise: profile: %d samples are at lines that the files do not have; take a profile of "+
			"this source, or check out the one it was taken of", j.beyond)
	}
	if err := j.compare(); err != nil {
		return nil, err
	}
	if j.total == (Totals{}) && j.before == (Totals{}) {
		return nil, errors.New("advise: profile: it has no samples; take it while the program works")
	}
	if j.within == 0 && j.before != (Totals{}) {
		return nil, fmt.Errorf("advise: profile: the benchmarks do nothing in the packages named within the loops that " +
			"they time; give the packages that these run")
	}
	if j.within == 0 {
		return nil, fmt.Errorf("advise: profile: no sample lies in the packages named%s; give the packages that the "+
			"profiled program is built of%s", j.elsewhere(), strings.Join(slices.Insert(c.LeftOut, 0, ""), "\nleft out: "))
	}
	for _, name := range slices.Sorted(maps.Keys(j.ignored)) {
		if j.ignored[name] {
			j.notes = append(j.notes, relative(base, name)+" allocates in the profile, but today's build leaves it out: its "+
				"callers are charged; set GOFLAGS=-tags=TAG, GOOS or GOARCH as the profiled program was built")
		}
	}
	all := j.total
	all.add(j.before)
	if j.before.Bytes > 0 { // the collector works on that memory, too
		j.total.GC = int64(float64(j.total.GC) * float64(j.total.Bytes) / float64(all.Bytes))
	}
	e := &Evidence{Total: j.total, Outside: j.outside.of(j.total), Before: j.before, Notes: j.notes}
	if s := j.before.of(all); max(s.Bytes, s.Objects) >= 0.01 {
		e.Notes = append(e.Notes, "left out "+s.String()+" that benchmarks allocate outside the loops that they time")
	}
	noted := len(j.notes)
	e.Account = j.account(ctx, c, units, base, findings)
	e.Notes = append(e.Notes, j.notes[noted:]...)
	for i := range findings {
		share := j.of(&findings[i]).of(j.total)
		findings[i].Share = &share
	}
	return e, nil
}

// index notes the files of a unit, and where their functions begin.
func (j *joiner) index(u *unit) {
	for _, name := range u.IgnoredFiles {
		j.ignored[name] = false
	}
	dir, last := path.Split(u.PkgPath)
	prefix := dir + strings.ReplaceAll(last, ".", "%2e") + "."
	if u.Name == "main" {
		prefix = "main."
	}
	for _, f := range u.Files {
		for _, name := range f.names() {
			j.files[name] = name
			j.files[path.Join(u.PkgPath, filepath.Base(name))] = name
			if u.Name == "main" && u.Module != nil {
				j.files[path.Join("main", relative(u.Module.Dir, name))] = name
			}
		}
		j.lengths[f.Name] = f.Lines
		j.dirs[u.PkgPath] = filepath.Dir(f.Name)
		for _, fn := range f.Funcs {
			j.starts[beginning{filepath.Dir(f.Name), fn.Name, fn.Line}] = true
		}
		for _, fn := range f.Literals {
			at, name := literalAt{place{f.Name, fn.Line}, literals(fn.Name)}, prefix+fn.Name
			if _, several := j.literals[at]; several {
				name = ""
			}
			j.literals[at] = name
		}
	}
}

// read adds one profile.
func (j *joiner) read(ctx context.Context, name string) error {
	shown := text.WithoutPasswords(name)
	j.say("reading " + shown)
	p, err := readProfile(ctx, name)
	if err != nil {
		return err
	}
	if err := usable(p); err != nil {
		return fmt.Errorf("advise: profile: %s: %w", shown, err)
	}
	j.program(shown, p)
	j.rehome(p)
	j.functions(p)
	j.benchmarks = benchmarked(p)
	for s, t := range totals(p) {
		j.charge(s, t)
	}
	return nil
}

// usable returns an error if a profile lacks what decides, or where it was sampled.
func usable(p *profile.Profile) error {
	var types []string
	for _, t := range p.SampleType {
		types = append(types, t.Type)
	}
	has := func(want string) bool { return slices.Contains(types, want) }
	placed := func(l *profile.Location) bool {
		return slices.ContainsFunc(l.Line, func(l profile.Line) bool { return l.Line > 0 })
	}
	switch {
	case !has("cpu") && !(has("alloc_space") && has("alloc_objects")):
		return fmt.Errorf("it has %s; give alloc_objects with alloc_space, as in heap and allocs, or cpu",
			strings.Join(types, ", "))
	case len(p.Sample) > 0 && !slices.ContainsFunc(p.Location, placed):
		return errors.New("it names no lines of code; give it as the program writes it, from a URL without debug=1")
	}
	return nil
}

// totals yields the samples of a profile with what each of them holds.
func totals(p *profile.Profile) iter.Seq2[*profile.Sample, Totals] {
	return func(yield func(*profile.Sample, Totals) bool) {
		for _, s := range p.Sample {
			var t Totals
			for i, of := range p.SampleType {
				switch of.Type {
				case "alloc_space":
					t.Bytes = s.Value[i]
				case "alloc_objects":
					t.Objects = s.Value[i]
				case "cpu":
					t.CPU = s.Value[i]
				}
			}
			if p.PeriodType != nil && p.PeriodType.Type == "space" && t.Objects > 0 {
				t.sampled(t.Bytes/t.Objects, p.Period)
			}
			if !yield(s, t) {
				return
			}
		}
	}
}

// charge gives a sample to the first line of the packages in its stack, from the leaf
// up and through inlined calls, unless a test lies below it.
func (j *joiner) charge(s *profile.Sample, t Totals) {
	stack := frames(s)
	if j.timings.prepares(stack, j.benchmarks) {
		j.before.add(t)
		if i := slices.IndexFunc(stack, func(f profile.Line) bool { _, ok := j.own(f); return ok }); i >= 0 {
			file, _ := j.own(stack[i])
			j.early[place{file, int(stack[i].Line)}] = true
		}
		return
	}
	j.total.add(t)
	if collects(stack) {
		j.total.GC += t.CPU
	}
	for i, f := range stack {
		file, ok := j.own(f)
		if strings.HasSuffix(f.Function.Filename, "_test.go") {
			break // a test that is called back: its own memory
		}
		if !ok {
			if _, is := j.ignored[f.Function.Filename]; is {
				j.ignored[f.Function.Filename] = true
			}
			continue
		}
		if length, known := j.lengths[file]; known && int(f.Line) > length {
			j.beyond++
			break
		}
		j.within++
		j.cause(s, t, place{file, int(f.Line)}, stack[:i], stack[i:], inlined(s, i))
		return
	}
	j.outside.add(t)
	for _, f := range stack {
		if pkg := packageOf(f.Function.Name); pkg == "main" || !std(pkg) {
			j.others[pkg]++
			return
		}
	}
}

// elsewhere names the packages outside with the most samples.
func (j *joiner) elsewhere() string {
	all := slices.SortedFunc(maps.Keys(j.others), func(a, b string) int {
		return cmp.Or(j.others[b]-j.others[a], strings.Compare(a, b))
	})
	const shown = 3
	switch {
	case len(all) == 0:
		return ""
	case len(all) > shown:
		all = append(all[:shown], "others")
	}
	return ", but in " + strings.Join(all, ", ")
}

// own returns the absolute name of a line's file, and whether that file belongs to the
// packages and is no test.
func (j *joiner) own(l profile.Line) (string, bool) {
	file, ok := j.files[filepath.ToSlash(l.Function.Filename)]
	return file, ok && !strings.HasSuffix(l.Function.Filename, "_test.go")
}

// frames returns the lines of a stack, leaf first.
func frames(s *profile.Sample) (out []profile.Line) {
	for _, loc := range s.Location {
		out = append(out, linesOfLocation(loc)...)
	}
	return out
}

func linesOfLocation(loc *profile.Location) []profile.Line {
	return slices.DeleteFunc(slices.Clone(loc.Line), func(l profile.Line) bool { return l.Function == nil })
}

// A body is where a line was compiled.
type body struct {
	within int          // frames below the line that are inlined into it
	of     profile.Line // of the function that all of them are in
}

// inlined returns the body of the i-th line of a stack.
func inlined(s *profile.Sample, i int) body {
	for _, loc := range s.Location {
		all := linesOfLocation(loc)
		if i < len(all) {
			return body{i, all[len(all)-1]}
		}
		i -= len(all)
	}
	return body{}
}
