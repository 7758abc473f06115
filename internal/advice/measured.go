package advice

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/isobar-go/isobar/advise/life"
	"github.com/isobar-go/isobar/internal/heap"
)

// A trail is where an object was made: the lines of the packages from the allocating
// one up to the function whose call was sampled, and what the first line calls.
type trail string

func trailOf(callee string, frames []frame) trail {
	text := callee
	for _, f := range frames {
		text += fmt.Sprint(" ", f.file, ":", f.line)
	}
	return trail(text)
}

// A tally sums up what became of the objects of one trail and size.
type tally struct {
	made, live int            // objects of sampled calls, and those live when the calls returned
	by         map[heldBy]int // who holds the live ones
}

// add adds another tally, with each of its objects counted weight times.
func (t *tally) add(o *tally, weight int) {
	t.made, t.live = t.made+weight*o.made, t.live+weight*o.live
	for h, n := range o.by {
		t.by[h] += weight * n
	}
}

// A heldBy says who holds an object.
type heldBy struct {
	rank  int
	name  string // of a field, variable or goroutine; "" if unknown
	field bool   // the name is a field's
}

// sightings are everything that was seen.
type sightings map[trail]map[made]*tally

// A made key distinguishes objects of one trail.
type made struct {
	by   bench
	size int64
	leaf string // the runtime function that made it; "" for a callee outside
}

func (k made) compare(o made) int {
	return cmp.Or(strings.Compare(k.by.pkg, o.by.pkg), strings.Compare(k.by.name, o.by.name), cmp.Compare(k.size, o.size))
}

func (m sightings) of(k kindOf) *tally {
	if m[k.trail] == nil {
		m[k.trail] = map[made]*tally{}
	}
	t := m[k.trail][k.made]
	if t == nil {
		t = &tally{by: map[heldBy]int{}}
		m[k.trail][k.made] = t
	}
	return t
}

// sum returns the tally, in bytes, of the objects of one size that a benchmark and a runtime function
// made. If none of this size was seen, it sums up all other sizes, provided that these end alike. It
// is nil if nothing was seen. sum adds the number of objects of each tally that it used to counted.
func (m sightings) sum(at trail, of made, counted map[*tally]int) *tally {
	for _, any := range []bool{false, true} {
		bytes, used := &tally{by: map[heldBy]int{}}, map[*tally]int{}
		for k, one := range m[at] {
			if of.by == k.by && of.leaf == k.leaf && (any || of.size == k.size) && one.made > 0 {
				bytes.add(one, int(k.size))
				used[one] = one.made
			}
		}
		if alike := bytes.live == 0 || bytes.live == bytes.made && len(bytes.by) == 1; bytes.made > 0 && (alike || !any) {
			maps.Copy(counted, used)
			return bytes
		}
	}
	return nil
}

// trail returns the frames of a way in the packages, from the one that allocates or
// calls the allocating function.
func (c *chain) trail() []frame {
	return append([]frame{c.origin}, c.frames...)[c.inside:]
}

// A kindOf distinguishes the objects of one look.
type kindOf struct {
	trail trail
	made
}

// A call is a sampled call: its function, and which sample of the function it is.
type call struct{ probe, number int }

// sampled matches the functions below which sampled calls run.
var sampled = regexp.MustCompile(hookPackage + `\.Sample(\d)$`)

// look records the objects of the heap as a call returns. It reports whether the call
// only prepares benchmarks; such a call does not count.
func (s *watching) look(ctx context.Context, now call, objects []heap.Object) (prepares bool, err error) {
	counts := map[kindOf]*tally{}
	for i := range objects {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		o := &objects[i]
		stack, err := s.stack(o.Stack)
		if err != nil {
			return false, err
		}
		of, k, ok := s.m.sampledBy(stack)
		if !ok || of != now {
			continue
		}
		if s.m.j.timings.prepares(stack, true) {
			prepares = true
			continue
		}
		k.size, k.by = int64(o.Bytes), s.by
		c := counts[k]
		if c == nil {
			c = &tally{by: map[heldBy]int{}}
			counts[k] = c
		}
		if c.made++; o.Live && rankRoot(o.Root) < byChance {
			c.live++
			c.by[holderOf(o)]++
		}
	}
	for k, c := range counts {
		s.m.result.of(k).add(c, 1)
	}
	return prepares && len(counts) == 0, nil
}

// sampledBy returns the sampled call that a stack belongs to, the trail there, and the
// runtime function that allocated.
func (m *measurer) sampledBy(stack []profile.Line) (of call, k kindOf, ok bool) {
	end := slices.IndexFunc(stack, func(f profile.Line) bool {
		found := sampled.FindStringSubmatch(f.Function.Name)
		if found != nil {
			of.number = int(found[1][0] - '0')
		}
		return found != nil
	})
	if end < 2 {
		return of, k, false
	}
	if of.probe = m.wrapping(stack[end-1], stack[end-2]); of.probe < 0 {
		return of, k, false
	}
	var own []frame
	callee := ""
	for i, f := range stack[:end-1] {
		file, is := m.j.own(f)
		if !is {
			if len(own) == 0 {
				callee = f.Function.Name
			}
			continue
		}
		if i > 0 && m.wraps(f, stack[i-1]) {
			continue
		}
		own = append(own, frame{place: place{file, int(f.Line)}})
	}
	if len(own) == 0 {
		return of, k, false
	}
	switch {
	case callee == "": // from Go 1.27, stacks omit what the compiler calls instead
		k.leaf = "runtime.newobject"
	case allocates(callee):
		k.leaf, callee = callee, ""
	}
	k.trail = trailOf(callee, own)
	return of, k, true
}

// wrapping returns the probe whose body is in frame body, called by the code around it
// in frame f; -1 for none.
func (m *measurer) wrapping(f, body profile.Line) int {
	file, own := m.j.own(f)
	if !own {
		return -1
	}
	return slices.IndexFunc(m.in.probes, func(p probe) bool {
		return p.file == file && p.to == int(f.Line) && p.from <= int(body.Line) && int(body.Line) <= p.to
	})
}

// wraps reports whether frame f is the code that the hooks added around the body that it calls.
func (m *measurer) wraps(f, body profile.Line) bool {
	rest, ok := strings.CutPrefix(body.Function.Name, f.Function.Name+".")
	return ok && inLiteral.MatchString(rest) && m.wrapping(f, body) >= 0
}

// holderOf returns who holds an object: the last field on the way to it, or the variable.
func holderOf(o *heap.Object) heldBy {
	h := heldBy{rank: rankRoot(o.Root)}
	label, beyond := "", false // beyond: a function value or an unknown object lies between
	for _, step := range o.Way {
		if strings.HasPrefix(step.Type, "sync.Pool") || strings.HasPrefix(step.Type, "sync.poolLocal") {
			h.name, h.field = "a sync.Pool", true
			return h
		}
	}
	for _, step := range slices.Backward(o.Way) {
		label = step.Label + label
		if name := fieldOf(step.Type, label); name != "" {
			if strings.HasPrefix(step.Type, "runtime.") {
				return heldBy{rank: byWaiters}
			}
			h.name, h.field = name, true
			if beyond {
				h.name = "what " + name + " leads to"
			}
			return h
		}
		beyond = beyond || strings.HasPrefix(step.Type, "func ") || step.Type == "unknown"
	}
	switch h.rank {
	case byGlobal:
		h.name = shortName(o.Root.Name)
	case byOthers:
		h.name = shortName(o.Root.Start)
	}
	return h
}

// fieldOf returns Type.field if the way through a value of a type begins with a field, else "".
func fieldOf(typ, label string) string {
	name := strings.TrimPrefix(typ, "[]")
	if !strings.HasPrefix(strings.TrimPrefix(label, "[]"), ".") || strings.HasPrefix(name, "struct {") {
		return ""
	}
	name, _, _ = strings.Cut(name, "[")
	name = name[strings.LastIndexByte(name, '.')+1:]
	field := strings.TrimSuffix(strings.TrimPrefix(label, "[]"), "[]")
	if name == "" || field == "." { // the program does not say what it is
		return ""
	}
	return name + field
}

// lifetime returns how long objects of some sizes that a cause makes were seen to live, and of how
// many objects that is known; ok is false if less than half was seen. What was seen is weighted by
// the profile: by way, benchmark and size.
func (m sightings) lifetime(c *cause, t *site) (l lifetime, objects int, ok bool) {
	var ends spread
	total, known, counted := 0.0, 0.0, map[*tally]int{}
	sizes, seen := map[int64]float64{}, map[int64]bool{}
	for _, way := range c.ways() {
		parts := way.parts(t, c.maker())
		for _, of := range slices.SortedFunc(maps.Keys(parts), made.compare) {
			total += parts[of]
			sizes[of.size] += parts[of]
			if m.along(c, way, of, &ends, parts[of], counted) {
				seen[of.size] = true
			}
		}
	}
	for size := range seen {
		known += sizes[size]
	}
	for _, n := range counted {
		objects += n
	}
	if len(ends) == 0 || known < total/2 {
		return l, 0, false
	}
	return ends.lifetime(total), objects, true
}

// maker is the runtime function that makes memory at the line itself; "" for a callee outside.
func (c *cause) maker() string {
	if c.callee != "" {
		return ""
	}
	return c.leaf
}

// parts returns the weight of what a runtime function made for each benchmark on a way, by size,
// for some sizes; without a benchmark it returns one part.
func (c *chain) parts(t *site, leaf string) map[made]float64 {
	parts := map[made]float64{}
	for by, s := range c.by {
		for size, of := range s.sizes {
			if t.sizes == nil || t.sizes[size] != nil {
				parts[made{by, size, leaf}] = float64(max(of.Bytes, of.Objects, 1))
			}
		}
	}
	if len(c.by) == 0 {
		parts[made{leaf: leaf}] = float64(max(c.Bytes, c.Objects, 1))
	}
	return parts
}

// along adds to ends how a part of one way was seen to end, with its weight; it reports
// whether that was seen.
func (m sightings) along(c *cause, way *chain, of made, ends *spread, weight float64,
	counted map[*tally]int) bool {
	frames, these := way.trail(), map[*tally]int{} // whose objects differ: each is of the innermost sampled call
	var last *tally
	var before spread
	left, top, through, late := 1.0, 0, "", false
	for i, f := range frames {
		if left == 0 {
			break
		}
		now := m.sum(trailOf(c.callee, frames[:i+1]), of, these)
		if now == nil {
			late = true
			continue
		}
		alive := min(left, float64(now.live)/float64(now.made))
		if alive < left {
			before.add(lifetime{kind: died, in: shortName(f.function), through: through, callee: shortName(frames[top].function),
				late: late}, weight*(left-alive))
		}
		left, last, top, through, late = alive, now, i, now.field(), false
	}
	if last == nil || left > 0 && (top < len(frames)-1 || way.cut) {
		return false
	}
	for _, h := range slices.SortedFunc(maps.Keys(last.by), heldBy.compare) {
		if left == 0 {
			break
		}
		before.add(h.lifetime(frames[top]), weight*left*float64(last.by[h])/float64(last.live))
	}
	for _, l := range before {
		ends.add(l, l.part)
	}
	maps.Copy(counted, these)
	return true
}

func (h heldBy) compare(o heldBy) int {
	return cmp.Or(cmp.Compare(h.rank, o.rank), strings.Compare(h.name, o.name))
}

// field returns the name of the holder that has most of the live objects.
func (t *tally) field() (name string) {
	most := 0
	for _, h := range slices.SortedFunc(maps.Keys(t.by), heldBy.compare) {
		if t.by[h] > most {
			most, name = t.by[h], h.name
		}
	}
	return name
}

// lifetime returns the lifetime of what h holds when the function of a frame returns.
func (h heldBy) lifetime(f frame) lifetime {
	in := shortName(f.function)
	l := lifetime{kind: kept, in: in}
	l.holder = life.Holder{Kind: life.Field, Name: h.name}
	switch {
	case h.rank == byResult:
		l.kind, l.through = escaped, h.name
	case h.field && strings.HasPrefix(h.name, "a sync.Pool"):
		l.holder.Kind = life.Callee // the name says it all
	case h.field:
	case h.rank == byGlobal:
		l.holder.Kind = life.Global
	case h.rank == byGiven:
		l.holder.Name = "what " + in + " is given"
	case h.rank == byWaiters:
		l.holder.Kind, l.holder.Name = life.Callee, "the runtime, for a goroutine or timer that waits"
	case h.rank == byOthers:
		l.holder.Kind, l.holder.Name = life.Goroutine, cmp.Or(h.name, "of another kind")
	default:
		l.holder.Name = cmp.Or(h.name, "variable of a caller of "+in)
	}
	return l
}

// A spread is several lifetimes, each with its share of the weight.
type spread []lifetime

// add adds a part; it merges lifetimes with the same text.
func (s *spread) add(l lifetime, part float64) {
	l.part = 0
	for i := range *s {
		o := (*s)[i]
		if o.part = 0; o.String() == l.String() {
			(*s)[i].part += part
			return
		}
	}
	l.part = part
	*s = append(*s, l)
}

// lifetime returns the lifetime with most weight, together with the others that matter.
func (s spread) lifetime(total float64) lifetime {
	class, all := map[string]float64{}, 0.0
	for i := range s {
		s[i].part /= total
		class[s[i].class()] += s[i].part
		all += s[i].part
	}
	slices.SortStableFunc(s, func(a, b lifetime) int {
		return cmp.Or(cmp.Compare(class[b.class()], class[a.class()]), cmp.Compare(b.part, a.part))
	})
	const least, most, trace = 0.1, 3, 0.01
	s[0].unmeasured = 1 - all
	for _, l := range s[1:] {
		mixed := !s[0].mixed && l.class() != s[0].class() && class[l.class()] >= trace
		if s[0].mixed = s[0].mixed || mixed; l.part >= least && len(s[0].rest) < most || mixed {
			s[0].rest = append(s[0].rest, l)
		}
	}
	return s[0]
}
