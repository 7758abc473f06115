package advice

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/google/pprof/profile"
)

// An Account explains what the profiles measured: every allocation that the
// module's own code makes or causes, with one verdict each.
type Account struct {
	Explained Shares      `json:"explained"` // the part of the module's allocations that has a verdict
	Open      Shares      `json:"open"`      // the part whose lifetime is not proved, but rests on a place that is named
	Sites     []Explained `json:"sites"`     // by their share, the largest first

	mended []Finding // of the remedies with a fix that no check has
}

// A Verdict is what can be done about a site.
type Verdict string

const (
	Remedy   Verdict = "remedy"                              // code of this package alone has to change
	Reshape  Verdict = "remedy that needs another interface" // callers, or other packages, have to change, too
	Inherent Verdict = "inherent"                            // somebody keeps what is made
	Outside  Verdict = "outside"                             // another module or the standard library makes it
	Open     Verdict = "open"                                // one place, which is named, decides whether it is needed
	Unknown  Verdict = "unexplained"                         // the code at the line is not what allocated

	unmatched = "no expression of the line allocates"
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
	PerCall float64 `json:"per_call,omitempty"` // how often a call of Function makes one; 0 where nothing counted it

	Flow     string `json:"flow,omitempty"`    // why it is on the heap: the compiler's deciding step
	Lifetime string `json:"lifetime"`          // how long it lives, and who keeps it
	Open     bool   `json:"open"`              // the lifetime is not proved: it says what decides it, and where
	Through  string `json:"through,omitempty"` // the calls of the module that lead here most often
	Check    string `json:"check,omitempty"`   // which of the eighteen

	Verdict   Verdict `json:"verdict"`
	Remedy    string  `json:"remedy"`              // what to do, or why there is nothing to do
	Condition string  `json:"condition,omitempty"` // what has to be true for it
	Decides   string  `json:"decides,omitempty"`   // FILE:LINE where one can see whether it is
	Saves     Shares  `json:"saves"`               // what the remedy saves at most
	Fix       bool    `json:"fix"`                 // a finding at this line can fix it

	spot, entry spot // of the expression, and where its function begins
}

// A cause is what allocates at a line: the line itself, or one function that it
// calls outside of the packages.
type cause struct {
	at       place
	function string // around the line, as the profile names it
	callee   string // the function outside; "" for the line itself
	leaf     string // the one that allocates, in the call of callee; of the line itself, the runtime's
	site            // what was charged to it, by size
	chains   map[string]*chain
}

// A chain is a way by which a line was reached, from the expression that allocates.
type chain struct {
	made   frame
	frames []frame // the callers: of other packages up to the line, then of the packages, as long as they are
	inside int     // how many of the frames come before the line's function is left: 0 where the line itself allocates
	beyond string  // the function that called the last of them; "" where the stack ends
	cut    bool    // there are more
	Totals
}

type frame struct {
	place
	function string
}

type causeKey struct {
	place
	function, callee, entered string // entered: the runtime's function, where the profile has it
}

// chainLimit is how many callers are followed.
const chainLimit = 48

// cause charges an allocation to what made it. inner are the frames below the line, the
// leaf first; above is the rest of the stack.
func (j *joiner) cause(s *profile.Sample, value int64, k kind, at place, inner, above []profile.Line) {
	allocator := func(f profile.Line) bool { return allocates(f.Function.Name) }
	if value == 0 || k.name == cpu && !slices.ContainsFunc(inner, allocator) {
		return
	}
	callee, leaf, entered := "", "", ""
	if n := len(inner); n > 0 && allocator(inner[n-1]) {
		leaf = inner[n-1].Function.Name
		entered, inner = leaf, nil
	} else if n > 0 {
		callee, leaf = inner[n-1].Function.Name, inner[0].Function.Name
	}
	for len(inner) > 0 && allocator(inner[0]) {
		inner = inner[1:]
	}
	key := causeKey{at, above[0].Function.Name, callee, entered}
	c := j.causes[key]
	if c == nil {
		c = &cause{at: at, function: key.function, callee: callee, leaf: leaf, chains: map[string]*chain{}}
		c.sizes = map[int64]*Totals{}
		j.causes[key] = c
	}
	c.charge(s, value, k)
	way, name := j.chain(inner, above)
	if c.chains[name] == nil {
		c.chains[name] = way
	}
	*k.total(&c.chains[name].Totals) += value
}

// wrapper matches what the compiler makes of a go or defer statement with arguments: its
// line is that of the statement, in the function that its caller names.
var wrapper = regexp.MustCompile(`\.(go|defer)wrap\d+$`)

// chain returns the frames that lead to an allocation, and a name for them.
func (j *joiner) chain(inner, above []profile.Line) (*chain, string) {
	out, name := &chain{inside: len(inner)}, ""
	all := slices.Concat(inner, above)
	for i := 0; i < len(all) && out.beyond == "" && !out.cut; i++ {
		f := all[i]
		at := frame{place{f.Function.Filename, int(f.Line)}, f.Function.Name}
		file, own := j.own(f)
		switch {
		case own:
			at.file = file
		case i >= len(inner):
			out.beyond = f.Function.Name
			continue
		}
		if out.cut = i > len(inner)+chainLimit; out.cut {
			continue
		}
		if i+1 < len(all) && i >= len(inner) && wrapper.MatchString(at.function) {
			i++
			at.function = all[i].Function.Name
		}
		if name == "" {
			out.made = at
		} else {
			out.frames = append(out.frames, at)
		}
		name += fmt.Sprint(at.place, " ")
	}
	return out, name + out.beyond
}

// ways returns the chains of a cause, the heaviest first.
func (c *cause) ways() []*chain {
	return slices.SortedFunc(maps.Values(c.chains), func(a, b *chain) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Objects, a.Objects))
	})
}

// account explains what was charged, the heaviest first.
func (j *joiner) account(ctx context.Context, c Config, units []*unit, base string, findings []Finding) *Account {
	x := newExplainer(ctx, c, units, base, findings)
	a := &Account{Sites: []Explained{}}
	var all, known, open Totals
	for _, one := range j.causes {
		for _, part := range x.explain(one) {
			part.Share = part.totals.of(j.total)
			part.Saves = part.saved.of(j.total)
			all.add(part.totals)
			if part.Verdict != Unknown {
				known.add(part.totals)
			}
			if part.Open {
				open.add(part.totals)
			}
			a.Sites = append(a.Sites, part.Explained)
			a.mend(part)
		}
	}
	a.Explained, a.Open = known.of(all), open.of(all)
	slices.SortFunc(a.Sites, func(p, q Explained) int {
		return cmp.Or(cmp.Compare(q.Share.weight(), p.Share.weight()), cmp.Compare(p.File, q.File), cmp.Compare(p.Line,
			q.Line),
			cmp.Compare(p.Callee, q.Callee), cmp.Compare(p.What, q.What))
	})
	x.flows(a.Sites)
	return a
}

// mend takes up the fix of a part, once for each place.
func (a *Account) mend(p *part) {
	if p.mended.fix == nil {
		return
	}
	for i := range a.mended {
		if f := &a.mended[i]; f.start == p.mended.start && f.spans[0].File == p.mended.spans[0].File {
			f.Share.Bytes, f.Share.Objects = f.Share.Bytes+p.Saves.Bytes, f.Share.Objects+p.Saves.Objects
			f.Share.CPU, f.Share.GC = f.Share.CPU+p.Saves.CPU, f.Share.GC+p.Saves.GC
			return
		}
	}
	saves := p.Saves
	p.mended.Share = &saves
	a.mended = append(a.mended, p.mended)
}

func (t *Totals) add(o Totals) {
	for _, kind := range kinds {
		*kind.total(t) += *kind.total(&o)
	}
}
