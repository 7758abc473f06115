package advice

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/isobar-go/isobar/internal/show/text"
)

// An Account explains what the profiles measured: every allocation that the
// module's own code makes or causes, with one verdict each.
type Account struct {
	Explained Shares      `json:"explained"` // share of the module's allocations that has a verdict
	Measured  Shares      `json:"measured"`  // share whose lifetime was seen while benchmarks ran
	Open      Shares      `json:"open"`      // share whose lifetime is not proved; the code that decides is named
	Sites     []Explained `json:"sites"`     // by share, largest first

	mended []Finding // of remedies whose fix no check offers
	ran    bool      // benchmarks ran, so that notes say what was not measured
}

// Known says for how much of the memory the lifetime is known, and how.
func (a *Account) Known() string {
	if a.Measured.Bytes > 0 {
		return fmt.Sprintf("measured for %.1f %% of bytes", 100*a.Measured.Bytes)
	}
	proved := fmt.Sprintf("proved by the code for %.1f %% of bytes", 100*max(0, a.Explained.Bytes-a.Open.Bytes))
	if a.ran {
		return proved
	}
	return proved + "; --bench measures it"
}

// A Verdict is what can be done about a site.
type Verdict string

const (
	Remedy    Verdict = "remedy"      // its fix was tried, and these benchmarks allocate less
	Candidate Verdict = "candidate"   // the code meets its conditions; it was not tried
	Look      Verdict = "look"        // no remedy is known: names what decides, and where
	Outside   Verdict = "outside"     // the same, for memory that another module or the library allocates
	Unknown   Verdict = "unexplained" // no expression of the line allocates
)

// An Explained is one site of the account.
type Explained struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"`
	Source   string `json:"source"`
	Share    Shares `json:"share"`

	Kind    string  `json:"kind"`             // as in [life.Kind]
	What    string  `json:"what"`             // the expression, shortened
	Callee  string  `json:"callee,omitempty"` // the function it calls, if that allocates
	Size    float64 `json:"mean_bytes"`       // of an object
	Objects int64   `json:"objects"`
	Within  float64 `json:"objects_within"` // half of the 95 % confidence interval, as a fraction
	// Smaller objects than these may have no sample, up to so many bytes together, with 95 % confidence. They are in no
	// other number here. 0 where they would hardly change the number of objects.
	Unsampled int64 `json:"unsampled_bytes,omitempty"`
	// Goroutines make it, some of which benchmarks start outside the loops that they time.
	Early bool `json:"perhaps_prepared,omitempty"`
	// The bytes of one object, if the profile counts blocks of 16 bytes that several
	// such objects without pointers share.
	Shared int64 `json:"shared_by_bytes,omitempty"`

	Flow     string `json:"flow,omitempty"`             // why it is on the heap: the compiler's steps
	Lifetime string `json:"lifetime"`                   // how long it lives, and who keeps it
	Measured int    `json:"measured_objects,omitempty"` // objects seen to live so; 0 if only the code tells
	Open     bool   `json:"open"`                       // the lifetime is not proved: it says what decides, and where
	Through  string `json:"through,omitempty"`          // calls in the module that lead here most often
	Check    string `json:"check,omitempty"`            // name of the check that the remedy belongs to

	Verdict Verdict  `json:"verdict"`
	Remedy  string   `json:"remedy"`            // what to do, or where to look
	Decides string   `json:"decides,omitempty"` // FILE:LINE of the deciding code; several separated by commas
	Fix     bool     `json:"fix"`               // a finding at this line can fix it
	Tried   []Figure `json:"tried,omitempty"`   // what the benchmarks that make it allocate without the fix and with it

	totals  Totals
	object  int64   // bytes of each; 0 if the code does not tell
	seen    float64 // the fraction whose lifetime was measured
	inlined bool    // Function is, somewhere: the compiler decides again there
	roomy   bool    // a map with so much room that the runtime allocates it even if it does not escape
	cause   *cause
	spots   []spot         // where the compiler has the expression, or the candidates
	call    place          // of Callee; spots are then lines of its code that are inlined here
	begins  token.Position // the declared function around it
	generic bool           // the function is generic
	fixes   []Finding      // that no check has: of the remedy, and those to be tried in turn if that saves nothing
	fixed   string         // key of the finding with the fix
	lead    string         // what would make the memory needless, and what has to hold for it
	instead string         // what to say if the remedy saves nothing
}

// Name is the kind and the expression, which alone suffices where it begins with the kind: make(…), append(…).
func (e *Explained) Name() string {
	if first, _, _ := strings.Cut(e.Kind, " "); strings.HasPrefix(e.What, first) {
		return e.What
	}
	return strings.TrimSpace(e.Kind + " " + e.What)
}

// average sets the mean size, whether blocks are shared, and how well the number is known.
func (e *Explained) average() {
	e.Within = e.totals.within()
	if e.Objects > 0 {
		e.Size = math.Round(float64(e.totals.Bytes) / float64(e.Objects))
	}
	e.Shared = 0
	if e.object < tinyBlock && e.Size == tinyBlock {
		e.Shared = e.object
	}
}

// Made says how many objects are made, and how large they are.
func (e *Explained) Made() string {
	if e.Objects == 0 {
		return "not counted in a profile of CPU time"
	}
	const exact = 0.03
	number := text.Plural(int(e.Objects), "object")
	if e.Within > exact {
		number += fmt.Sprintf(" (±%.0f %%)", 100*e.Within)
	}
	if e.Early {
		number += ", some perhaps of what benchmarks prepare,"
	}
	if e.Shared > 0 {
		return fmt.Sprintf("at least %s of %d bytes: the profile has so many blocks of %.0f bytes, which they share",
			number, e.Shared, e.Size)
	}
	made := fmt.Sprintf("%s in the profile, %.0f bytes on average", number, e.Size)
	if e.Unsampled > 0 {
		made += ", and perhaps smaller ones without a sample, together " + text.Bytes(float64(e.Unsampled)) + " or less"
	}
	if e.object == 0 && e.Size >= tinyBlock && e.Size < 2*tinyBlock {
		return "at least " + made + ": it counts blocks of 16, which smaller ones share"
	}
	return made
}

// Life returns the lifetime, and how it is known.
func (e *Explained) Life() string {
	if e.Measured == 0 && !strings.HasPrefix(e.Lifetime, "not known") {
		return e.Lifetime + " (by the code, not measured)"
	}
	return e.Lifetime
}

// A cause is what allocates at a line: the line itself, or one function outside the
// packages that it calls.
type cause struct {
	at       place
	function string         // around the line, as the profile names it
	callee   string         // the function outside; "" for the line itself
	leaf     string         // the function that allocates: below callee, or the runtime's for the line itself
	several  bool           // several functions do
	copied   map[place]bool // lines of callee that allocate, where it is inlined; the zero place for others
	site                    // what it allocates
	chains   map[string]*chain
}

// A bench identifies a benchmark by the name of its function.
type bench struct{ pkg, name string }

// benches returns the benchmarks that make it, those that make most first.
func (c *cause) benches() []bench {
	by := map[bench]int64{} // objects
	for _, way := range c.chains {
		for b, s := range way.by {
			by[b] += s.Objects
		}
	}
	return slices.SortedFunc(maps.Keys(by), func(a, b bench) int {
		return cmp.Or(cmp.Compare(by[b], by[a]), strings.Compare(a.pkg, b.pkg), strings.Compare(a.name, b.name))
	})
}

// A site is what profiles charge to code that allocates.
type site struct {
	Totals
	sizes map[int64]*Totals // by object size, if a profile has it
}

// charge adds objects of one size, 0 if it is unknown.
func (s *site) charge(t Totals, size int64) {
	s.add(t)
	if size != 0 {
		s.ofSize(size, t)
	}
}

func (s *site) ofSize(size int64, t Totals) {
	if s.sizes == nil {
		s.sizes = map[int64]*Totals{}
	}
	if s.sizes[size] == nil {
		s.sizes[size] = &Totals{}
	}
	s.sizes[size].add(t)
}

func (s *site) merge(o *site) {
	s.add(o.Totals)
	for size, t := range o.sizes {
		s.ofSize(size, *t)
	}
}

// unsampled returns how many bytes of smaller objects may have no sample, 0 where these would hardly change the number
// of objects: a profile shows none of n bytes with the probability exp(-n/rate).
func (s *site) unsampled() int64 {
	const sure, much = 3, 10 // 95 %, and a tenth
	n := sure * s.rate
	if len(s.sizes) == 0 || slices.Min(slices.Collect(maps.Keys(s.sizes))) <= tinyBlock || n/tinyBlock*much < s.Objects {
		return 0
	}
	return n
}

// regrown returns what growing objects allocate after the first time: for each size,
// the objects that outgrew the size before.
func (s *site) regrown() (t Totals) {
	if len(s.sizes) == 0 {
		return s.Totals // sizes are unknown
	}
	all := slices.Sorted(maps.Keys(s.sizes))
	for i, size := range all[1:] {
		n := min(s.sizes[size].Objects, s.sizes[all[i]].Objects)
		t.Objects += n
		t.Bytes += n * all[i] // the larger object replaces it
	}
	if s.Objects > 0 {
		t.CPU = int64(float64(s.CPU) * float64(t.Objects) / float64(s.Objects))
	}
	return t
}

// outgrown reports whether much of what it allocates replaces what became too small.
func (s *site) outgrown() bool {
	const least = 0.1
	again := s.regrown()
	return float64(again.Bytes) >= least*float64(s.Bytes) && float64(again.Objects) >= least*float64(s.Objects)
}

// A chain is a call path to an allocation, from the expression that allocates.
type chain struct {
	origin frame
	frames []frame // the callers: of other packages up to the line, then those of the packages
	inside int     // number of frames below the line's function, origin included: 0 if the line itself allocates
	beyond string  // the first function of another package that called one of them; "" if the stack ends
	test   string  // the function of a test that it is inlined into; tests are not compiled again
	begins place   // where code makes the function literal that the stack begins with, if that is no benchmark's
	cut    bool    // frames were left out
	made   bool    // memory was allocated; otherwise the line calls code that only computes
	site           // with all CPU time of what the line calls
	by     map[bench]*site
}

type frame struct {
	place
	function string
}

// A causeKey omits the function: copies of a function literal have different names.
type causeKey struct {
	place
	literals        int    // number of function literals around the line, by the function's name
	callee, entered string // entered: the runtime function, if the profile has it
}

// chainLimit is the number of callers that are followed.
const chainLimit = 48

// cause charges a sample to its cause. inner are the frames below the line, leaf first;
// above is the rest of the stack.
func (j *joiner) cause(s *profile.Sample, t Totals, at place, inner, above []profile.Line, in body) {
	allocator := func(f profile.Line) bool { return allocates(f.Function.Name) }
	if t == (Totals{}) || t.CPU != 0 && len(inner) == 0 {
		return // the line only computes
	}
	made := t.CPU == 0 || slices.ContainsFunc(inner, allocator)
	callee, leaf, entered := "", "", ""
	if n := len(inner); n > 0 && allocator(inner[n-1]) {
		leaf = inner[n-1].Function.Name
		entered, inner = leaf, nil
	}
	for len(inner) > 0 && allocator(inner[0]) {
		inner = inner[1:]
	}
	if n := len(inner); n > 0 {
		callee, leaf = inner[n-1].Function.Name, inner[0].Function.Name
	}
	function := above[0].Function.Name
	key := causeKey{at, literals(function), callee, entered}
	c := j.causes[key]
	if c == nil {
		c = &cause{at: at, function: function, callee: callee, chains: map[string]*chain{}, copied: map[place]bool{}}
		j.causes[key] = c
	}
	if cmp.Or(len(function)-len(c.function), strings.Compare(function, c.function)) < 0 {
		c.function = function // the name of a copy begins with the function that holds the copy
	}
	size := int64(0)
	if sizes := s.NumLabel["bytes"]; len(sizes) > 0 {
		size = sizes[0]
	}
	if made {
		c.several = c.several || c.leaf != "" && c.leaf != leaf
		c.leaf = cmp.Or(c.leaf, leaf)
		c.charge(t, size)
		at := place{} // deeper
		if n := len(inner); n > 0 && n == in.within {
			at = place{inner[0].Function.Filename, int(inner[0].Line)}
		}
		if t.CPU == 0 {
			c.copied[at] = true
		}
	}
	way, name := j.chain(inner, above)
	if c.chains[name] == nil {
		c.chains[name] = way
	}
	way = c.chains[name]
	if strings.HasSuffix(in.of.Function.Filename, "_test.go") {
		way.test = shortName(in.of.Function.Name)
	}
	way.made = way.made || made
	way.charge(t, size)
	if b, ok := j.timings.benchmark(above); ok && t.Objects > 0 {
		if way.by[b] == nil {
			way.by[b] = &site{}
		}
		way.by[b].ofSize(size, t)
		way.by[b].Objects += t.Objects
	}
}

// chain returns the call path of an allocation, and a key for it.
func (j *joiner) chain(inner, above []profile.Line) (*chain, string) {
	out, name := &chain{inside: len(inner), by: map[bench]*site{}}, ""
	all := slices.Concat(inner, above)
	for i, f := range all {
		if f.Function.Name == "testing.(*B).runN" {
			out.begins = place{}
		}
		at := frame{place{f.Function.Filename, int(f.Line)}, f.Function.Name}
		file, own := j.own(f)
		switch {
		case own:
			at.file, out.begins = file, place{}
			if literals(f.Function.Name) > 0 {
				out.begins = place{file, int(f.Function.StartLine)}
			}
		case i >= len(inner):
			out.beyond = cmp.Or(out.beyond, f.Function.Name)
			continue
		}
		if i > len(inner)+chainLimit {
			out.cut = true
			break
		}
		if name == "" {
			out.origin = at
		} else {
			out.frames = append(out.frames, at)
		}
		name += fmt.Sprint(at.place, " ")
	}
	return out, name + out.beyond
}

// ways returns the allocating chains of a cause, heaviest first.
func (c *cause) ways() (ways []*chain) {
	for _, name := range slices.Sorted(maps.Keys(c.chains)) {
		if way := c.chains[name]; way.made {
			ways = append(ways, way)
		}
	}
	slices.SortStableFunc(ways, func(a, b *chain) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Objects, a.Objects))
	})
	return ways
}

// compare orders causes, the same way in each run.
func (c *cause) compare(d *cause) int {
	return cmp.Or(strings.Compare(c.at.file, d.at.file), c.at.line-d.at.line, strings.Compare(c.function, d.function),
		strings.Compare(c.callee, d.callee), strings.Compare(c.leaf, d.leaf))
}

// account explains what was charged, heaviest first.
func (j *joiner) account(ctx context.Context, c Config, units []*unit, base string, findings []Finding) *Account {
	x := newExplainer(c, units, base, findings)
	x.causes, x.early = j.causes, j.early
	var note string
	if x.measured, note = measure(ctx, c, j, units); note != "" {
		j.notes = append(j.notes, note)
	}
	a := &Account{Sites: []Explained{}, ran: c.Bench != ""}
	var all, known, open, seen Totals
	for _, one := range slices.SortedFunc(maps.Values(j.causes), (*cause).compare) {
		computes := one.Objects == 0 && strings.HasPrefix(one.callee, "runtime.")
		if one.Totals == (Totals{}) || computes || ctx.Err() != nil {
			continue // it only computes, or the context has ended
		}
		for _, part := range x.explain(one) {
			part.inlined, part.cause = j.inlined[one.function], one
			part.Share = part.totals.of(j.total)
			all.add(part.totals)
			if part.Verdict != Unknown {
				known.add(part.totals)
			}
			if part.Open {
				open.add(part.totals)
			}
			seen.add(*part.totals.part(part.seen))
			for _, f := range part.fixes {
				a.mend(f, part.Share)
			}
			if !a.merged(part) {
				a.Sites = append(a.Sites, *part)
			}
		}
	}
	a.Explained, a.Open, a.Measured = known.of(all), open.of(all), seen.of(all)
	const least = 0.0005 // of bytes or objects: a profile has too few samples of smaller shares
	a.Sites = slices.DeleteFunc(a.Sites, func(e Explained) bool {
		computes := j.total.Objects > 0 && e.totals.Objects == 0 && e.totals.Bytes == 0 // and others allocate
		return computes || e.Share.weight() < least
	})
	slices.SortStableFunc(a.Sites, func(p, q Explained) int {
		return cmp.Or(cmp.Compare(q.Share.weight(), p.Share.weight()), cmp.Compare(p.File, q.File),
			cmp.Compare(p.Line, q.Line), cmp.Compare(p.Callee, q.Callee), cmp.Compare(p.What, q.What))
	})
	if err := x.flows(ctx, a.Sites); err != nil {
		j.notes = append(j.notes, "why memory is on the heap is not all known: "+err.Error())
	}
	return a
}

// merged adds a part to the site of the same expression, and reports whether there is one. A part may
// come from CPU profiles alone, or have other sizes. The verdict of the larger part stays.
func (a *Account) merged(p *Explained) bool {
	for i := range a.Sites {
		e := &a.Sites[i]
		same := e.File == p.File && e.Line == p.Line && e.Function == p.Function && e.Callee == p.Callee &&
			e.Kind == p.Kind && e.What == p.What
		if !same {
			continue
		}
		if e.totals.Bytes < p.totals.Bytes || e.totals.Objects == 0 {
			*e, *p = *p, *e
		}
		e.totals.add(p.totals)
		e.Share.add(p.Share)
		e.Objects = e.totals.Objects
		e.average()
		e.Unsampled, e.Early = max(e.Unsampled, p.Unsampled), e.Early || p.Early
		return true
	}
	return false
}

// once says a remedy that several sites share at the heaviest of them, and refers to it at the others.
func (a *Account) once() {
	said := map[string]*Explained{}
	for i := range a.Sites {
		e := &a.Sites[i]
		first := said[e.fixed]
		switch {
		case e.fixed == "" || e.Verdict != Remedy && e.Verdict != Candidate:
		case first == nil:
			said[e.fixed] = e
		default:
			e.Remedy, e.Decides, e.Fix = fmt.Sprintf("the same change as for %s:%d", first.File, first.Line), "", false
		}
	}
}

// mend adds a fix of a part, once for each place.
func (a *Account) mend(fixed Finding, share Shares) {
	for i := range a.mended {
		if f := &a.mended[i]; f.key() == fixed.key() {
			f.Share.add(share)
			return
		}
	}
	fixed.Share = &share
	a.mended = append(a.mended, fixed)
}
