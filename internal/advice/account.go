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
)

// An Account explains what the profiles measured: every allocation that the
// module's own code makes or causes, with one verdict each.
type Account struct {
	Explained Shares      `json:"explained"` // the part of the module's allocations that has a verdict
	Measured  Shares      `json:"measured"`  // the part whose lifetime was seen as benchmarks ran
	Open      Shares      `json:"open"`      // the part whose lifetime is not proved, but rests on a place that is named
	Sites     []Explained `json:"sites"`     // by their share, the largest first

	mended []Finding // of the remedies with a fix that no check has
}

// Known says of how much the lifetime is known, and how.
func (a *Account) Known() string {
	if a.Measured.Bytes == 0 {
		return fmt.Sprintf("proved by the code of %.1f %% of bytes, not measured: --bench does",
			100*(a.Explained.Bytes-a.Open.Bytes))
	}
	return fmt.Sprintf("measured of %.1f %% of bytes", 100*a.Measured.Bytes)
}

// A Verdict is what can be done about a site.
type Verdict string

const (
	Remedy    Verdict = "remedy"      // its fix was tried, and these benchmarks allocate less
	Candidate Verdict = "candidate"   // the code has what it rests on; it was not tried
	Look      Verdict = "look"        // no remedy is known: what decides it, and where
	Outside   Verdict = "outside"     // the same, of what another module or the library makes
	Unknown   Verdict = "unexplained" // no expression of the line, or one of several, allocated
)

// An Explained is one site of the account.
type Explained struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"`
	Source   string `json:"source"`
	Share    Shares `json:"share"`

	Kind    string  `json:"kind"`             // as [life.Kind] has it
	What    string  `json:"what"`             // the expression, shortened
	Callee  string  `json:"callee,omitempty"` // what it calls, where that allocates
	Size    float64 `json:"mean_bytes"`       // of an object
	Objects int64   `json:"objects"`
	Within  float64 `json:"objects_within"`              // the half of their 95 % interval, as a part of them
	Smaller bool    `json:"smaller_unsampled,omitempty"` // there may be smaller ones without a sample
	// The bytes of one object, where the profile counts blocks of 16 bytes that several
	// such objects without pointers share.
	Shared int64 `json:"shared_by_bytes,omitempty"`

	Flow     string `json:"flow,omitempty"`             // why it is on the heap: the steps that take it there
	Lifetime string `json:"lifetime"`                   // how long it lives, and who keeps it
	Measured int    `json:"measured_objects,omitempty"` // that were seen to live so; 0 where the code alone tells it
	Open     bool   `json:"open"`                       // the lifetime is not proved: it says what decides it, and where
	Through  string `json:"through,omitempty"`          // the calls of the module that lead here most often
	Check    string `json:"check,omitempty"`            // which of the eighteen

	Verdict Verdict  `json:"verdict"`
	Remedy  string   `json:"remedy"`            // what to do, or where to look
	Decides string   `json:"decides,omitempty"` // FILE:LINE of the code that decides it; of several, by commas
	Fix     bool     `json:"fix"`               // a finding at this line can fix it
	Tried   []Figure `json:"tried,omitempty"`   // what the benchmarks that make it allocate with the fix, and without

	totals  Totals
	object  int64   // bytes of each; 0 where the code does not tell
	seen    float64 // the part whose lifetime was measured
	inlined bool    // somewhere, Function is: the compiler decides again where it is inlined to
	roomy   bool    // a map whose size the runtime makes room for, wherever the map is
	cause   *cause
	spots   []spot         // where the compiler has the expression, or those of which one is
	begins  token.Position // the function that a file declares around it
	generic bool           // that is generic
	mended  Finding        // that stands for the remedy, where that has a fix of its own
	others  []Finding      // that are tried in turn where that saves nothing
	fixed   string         // the key of the finding that has the fix
	instead string         // what is said where the remedy saves nothing
}

// average sets the mean size, whether it is that of blocks, and how well the number is known.
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

// Made says how many objects it makes, and how large they are.
func (e *Explained) Made() string {
	const exact = 0.03
	number := fmt.Sprintf("%d objects", e.Objects)
	if e.Within > exact {
		number += fmt.Sprintf(" (±%.0f %%)", 100*e.Within)
	}
	if e.Shared > 0 {
		return fmt.Sprintf("at least %s of %d bytes: the profile has so many blocks of %.0f bytes, which they share",
			number, e.Shared, e.Size)
	}
	text := fmt.Sprintf("%s in the profile, %.0f bytes on average", number, e.Size)
	if e.Smaller {
		text += ", and perhaps smaller ones without a sample"
	}
	if e.object == 0 && e.Size >= tinyBlock && e.Size < 2*tinyBlock {
		return "at least " + text + ": it counts blocks of 16, which smaller ones share"
	}
	return text
}

// Life is how long it lives, and how that is known.
func (e *Explained) Life() string {
	if e.Measured == 0 && !strings.HasPrefix(e.Lifetime, "not known") {
		return e.Lifetime + " (by the code, not measured)"
	}
	return e.Lifetime
}

// A cause is what allocates at a line: the line itself, or one function that it
// calls outside of the packages.
type cause struct {
	at       place
	function string // around the line, as the profile names it
	callee   string // the function outside; "" for the line itself
	leaf     string // the one that allocates, in the call of callee; of the line itself, the runtime's
	several  bool   // others do as well
	site            // what it allocates
	chains   map[string]*chain
}

// A bench is a benchmark by the name of its function.
type bench struct{ pkg, name string }

// benches are the benchmarks that make it, those that make most first.
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

// A site is what was charged to code that allocates.
type site struct {
	Totals
	sizes map[int64]*Totals // by the size of the object, where a profile has it
	leaf  string            // the runtime's function that makes it, where a measurement tells; else ""
}

// charge adds what objects of a size take, 0 where that is not known.
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

// misses reports whether objects of several sizes may have smaller ones among them that no sample shows.
func (s *site) misses() bool {
	const sure = 6 // times the rate: of objects so large, two in a thousand have no sample, half as large one in twenty
	return len(s.sizes) > 1 && slices.Min(slices.Collect(maps.Keys(s.sizes))) < sure*s.rate
}

// regrown is what is allocated beyond the first time of what grows there: as
// many objects of each size as grew beyond the size before.
func (s *site) regrown() (t Totals) {
	if len(s.sizes) == 0 {
		return s.Totals // no sizes are known
	}
	all := slices.Sorted(maps.Keys(s.sizes))
	for i, size := range all[1:] {
		n := min(s.sizes[size].Objects, s.sizes[all[i]].Objects)
		t.Objects += n
		t.Bytes += n * all[i] // which the larger one replaces
	}
	if s.Objects > 0 {
		t.CPU = int64(float64(s.CPU) * float64(t.Objects) / float64(s.Objects))
	}
	return t
}

// A chain is a way by which a line was reached, from the expression that allocates.
type chain struct {
	origin frame
	frames []frame // the callers: of other packages up to the line, then of the packages, as long as they are
	inside int     // how many of the frames come before the line's function is left: 0 where the line itself allocates
	beyond string  // the first function of other packages that called one of them; "" where the stack ends
	cut    bool    // there are more
	made   bool    // memory was allocated: else the line calls what only computes
	site           // with all the CPU time of what the line calls
	by     map[bench]*site
}

type frame struct {
	place
	function string
}

// A causeKey leaves the function out: copies of a function literal have names of their own.
type causeKey struct {
	place
	literals        int    // function literals that the line is in, as far as the function's name says
	callee, entered string // entered: the runtime's function, where the profile has it
}

// chainLimit is how many callers are followed.
const chainLimit = 48

// cause charges a sample to what made it. inner are the frames below the line, the
// leaf first; above is the rest of the stack.
func (j *joiner) cause(s *profile.Sample, t Totals, at place, inner, above []profile.Line) {
	allocator := func(f profile.Line) bool { return allocates(f.Function.Name) }
	if t == (Totals{}) || t.CPU != 0 && len(inner) == 0 {
		return // the line computes
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
		c = &cause{at: at, function: function, callee: callee, chains: map[string]*chain{}}
		j.causes[key] = c
	}
	if cmp.Or(len(function)-len(c.function), strings.Compare(function, c.function)) < 0 {
		c.function = function // a copy has the name of the function that it was made in before its own
	}
	size := int64(0)
	if sizes := s.NumLabel["bytes"]; len(sizes) > 0 {
		size = sizes[0]
	}
	if made {
		c.several = c.several || c.leaf != "" && c.leaf != leaf
		c.leaf = cmp.Or(c.leaf, leaf)
		c.charge(t, size)
	}
	way, name := j.chain(inner, above)
	if c.chains[name] == nil {
		c.chains[name] = way
	}
	way = c.chains[name]
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

// chain returns the frames that lead to an allocation, and a name for them.
func (j *joiner) chain(inner, above []profile.Line) (*chain, string) {
	out, name := &chain{inside: len(inner), by: map[bench]*site{}}, ""
	all := slices.Concat(inner, above)
	for i, f := range all {
		at := frame{place{f.Function.Filename, int(f.Line)}, f.Function.Name}
		file, own := j.own(f)
		switch {
		case own:
			at.file = file
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

// ways returns the chains of a cause that allocate, the heaviest first.
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

// compare gives causes an order that is the same in each run.
func (c *cause) compare(d *cause) int {
	return cmp.Or(strings.Compare(c.at.file, d.at.file), c.at.line-d.at.line, strings.Compare(c.function, d.function),
		strings.Compare(c.callee, d.callee), strings.Compare(c.leaf, d.leaf))
}

// account explains what was charged, the heaviest first.
func (j *joiner) account(ctx context.Context, c Config, units []*unit, base string, findings []Finding) *Account {
	x := newExplainer(c, units, base, findings)
	x.causes = j.causes
	var note string
	if x.measured, note = measure(ctx, c, j, units); note != "" {
		j.notes = append(j.notes, note)
	}
	a := &Account{Sites: []Explained{}}
	var all, known, open, seen Totals
	for _, one := range slices.SortedFunc(maps.Values(j.causes), (*cause).compare) {
		computes := one.Objects == 0 && strings.HasPrefix(one.callee, "runtime.")
		if one.Totals == (Totals{}) || computes || ctx.Err() != nil {
			continue // it only computes, or nobody asks any more
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
			a.mend(part.mended, part.Share)
			for _, f := range part.others {
				a.mend(f, part.Share)
			}
			if !a.merged(part) {
				a.Sites = append(a.Sites, *part)
			}
		}
	}
	if j.total.Objects > 0 { // the profiles tell what allocates
		a.Sites = slices.DeleteFunc(a.Sites, func(e Explained) bool { return e.totals.Objects == 0 && e.totals.Bytes == 0 })
	}
	a.Explained, a.Open, a.Measured = known.of(all), open.of(all), seen.of(all)
	const least = 0.0005 // of bytes or objects: a profile has too few samples of less to tell how many there are
	a.Sites = slices.DeleteFunc(a.Sites, func(e Explained) bool { return e.Share.weight() < least })
	slices.SortStableFunc(a.Sites, func(p, q Explained) int {
		return cmp.Or(cmp.Compare(q.Share.weight(), p.Share.weight()), cmp.Compare(p.File, q.File),
			cmp.Compare(p.Line, q.Line), cmp.Compare(p.Callee, q.Callee), cmp.Compare(p.What, q.What))
	})
	if err := x.flows(ctx, a.Sites); err != nil {
		j.notes = append(j.notes, "why memory is on the heap is not all known: "+err.Error())
	}
	return a
}

// merged adds a part to the site of the same expression, if there is one: what only CPU
// profiles have, or objects of other sizes, whose verdict is that of the larger part.
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
		e.Smaller = e.Smaller || p.Smaller
		return true
	}
	return false
}

// mend takes up a fix of a part, once for each place.
func (a *Account) mend(fixed Finding, share Shares) {
	if fixed.Edits == nil {
		return
	}
	for i := range a.mended {
		if f := &a.mended[i]; f.key() == fixed.key() {
			f.Share.add(share)
			return
		}
	}
	fixed.Share = &share
	a.mended = append(a.mended, fixed)
}
