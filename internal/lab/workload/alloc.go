package workload

import (
	"math"
	"math/rand/v2"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func init() {
	Register(&Workload{
		Name:    "alloc",
		Summary: "allocate linked objects, compute, keep some of them: pressure on the collector",
		Params: WithBudget("1_000_000", "30s",
			Bytes("size", "10KiB", "size of an object's data", 0, 1<<30),
			Int("refs", "3", "most references to base objects; each object has 1 to this many", 1, 1000),
			Int("work", "1000", "square roots that an operation computes", 0, 1_000_000_000),
			Float("retain", "5", "percentage of objects to keep", 0, 100),
			Int("retained", "10_000", "most objects to keep; beyond that, random old ones are dropped", 1, 10_000_000),
		),
		New: newAlloc,
	})
}

// The number and size of the objects that every object refers to.
const (
	baseObjects = 5
	baseBytes   = 5 << 10
	fillStride  = 1 << 10 // one byte is written per stride
)

// object is what the alloc workload allocates: three allocations, a graph for
// the collector to walk.
type object struct {
	id   int64
	data []byte
	refs []*object
}

// alloc is the allocation benchmark of seed document 000, step 1, with three
// differences. Dropping a retained object is O(1), where the document closes
// the gap in a slice inside the timed operation. The object carries its number
// instead of a clock reading. Random numbers come from the cell's seed, so
// equal seeds make equal objects.
type alloc struct {
	Budgeted
	size, refs, work int
	retain           float64 // from 0 to 1
	rng              *rand.Rand
	base             []*object
	kept             *retained
	made             int64
	latest           *object // keeps the operation's object on the heap
}

func newAlloc(env Env) (Task, error) {
	p := env.Params
	a := &alloc{
		Budgeted: env.Budget,
		size:     p.Bytes("size"),
		refs:     p.Int("refs"),
		work:     p.Int("work"),
		retain:   p.Float("retain") / 100,
		rng:      rand.New(rand.NewPCG(env.Seed, 0x616c6c6f63)),
	}
	a.kept = newRetained(p.Int("retained"), a.rng)
	for i := range int64(baseObjects) {
		a.base = append(a.base, newObject(i, baseBytes, 0))
	}
	return a, nil
}

func newObject(id int64, size, refs int) *object {
	o := &object{id: id, data: make([]byte, size), refs: make([]*object, 0, refs)}
	for i := 0; i < size; i += fillStride {
		o.data[i] = byte(id)
	}
	return o
}

func (a *alloc) Loop(_ int, n int64) uint64 {
	var sum uint64
	for range n {
		sum += a.operation()
	}
	return sum
}

func (a *alloc) operation() uint64 {
	o := newObject(a.made, a.size, a.refs)
	a.made++
	a.latest = o
	sum := uint64(o.id)
	for range 1 + a.rng.IntN(a.refs) {
		base := a.base[a.rng.IntN(len(a.base))]
		o.refs = append(o.refs, base)
		sum = sum*31 + uint64(base.id)
	}
	sum ^= math.Float64bits(squareRoots(a.work))
	if a.rng.Float64() < a.retain {
		a.kept.add(o)
	}
	return sum
}

func squareRoots(n int) float64 {
	sum := 0.0
	for i := range n {
		sum += math.Sqrt(float64(i * 1000))
	}
	return sum
}

func (a *alloc) Report(rec *cell.Record) {
	rec.Set("/alloc/retained:objects", float64(len(a.kept.young)+len(a.kept.old)))
}

// retained holds a bounded number of objects. It always keeps the newest; an
// object beyond the bound replaces a random older one. The choice has the
// distribution of seed document 000, which appends, and above the bound removes
// one of the objects outside the newest 1,000, each with equal probability.
// Here those are the objects in old, whose order does not matter, and the one
// that just left young.
type retained struct {
	rng   *rand.Rand
	young []*object // the newest; a ring once full
	next  int       // index of the oldest in a full ring
	old   []*object // unordered
}

func newRetained(limit int, rng *rand.Rand) *retained {
	young := min(1000, limit/10)
	return &retained{rng: rng, young: make([]*object, 0, young), old: make([]*object, 0, limit-young)}
}

// add takes constant time and does not allocate.
func (r *retained) add(o *object) {
	if len(r.young) < cap(r.young) {
		r.young = append(r.young, o)
		return
	}
	if len(r.young) > 0 {
		o, r.young[r.next] = r.young[r.next], o
		r.next = (r.next + 1) % len(r.young)
	}
	if len(r.old) < cap(r.old) {
		r.old = append(r.old, o)
		return
	}
	if i := r.rng.IntN(len(r.old) + 1); i < len(r.old) {
		r.old[i] = o
	}
}
