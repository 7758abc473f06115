package whennot

// The value stays in the loop: inlined, on the stack.
type UserID struct{ v int64 }

func NewUserID(v int64) *UserID { return &UserID{v: v} }

func (id UserID) odd() bool { return id.v%2 == 1 }

func loop(ids []int64) (n int) {
	for _, x := range ids {
		id := NewUserID(x)
		if *id == (UserID{3}) {
			n++
		}
	}
	return n
}

type counter struct{ n int64 }

func newCounter(n int64) *counter { return &counter{n} }

func (c *counter) inc() { c.n++ }

type versioned struct {
	id    int64
	epoch int
}

func newVersioned(id int64) *versioned { return &versioned{id: id} }

type gauge struct{ n int64 }

func (g *gauge) set(n int64) { g.n = n }

func gauges(ns []int64) (out []*gauge) {
	for _, n := range ns {
		out = append(out, &gauge{n})
	}
	return out
}

var (
	counters []*counter
	versions []*versioned
)

func all(ids []int64) {
	for _, x := range ids {
		counters = append(counters, newCounter(x))
		versions = append(versions, newVersioned(x))
	}
}

type queue struct{ items []int }

func (q *queue) push(n int) { q.items = append(q.items, n) }

// The field is written to: there has to be an address.
func newQueue(items []int) *queue { return &queue{items} }

type generic[T any] struct{ v T }

func wrap[T any](v T) *generic[T] { return &generic[T]{v} }

type total int64

func (t *total) add(n int64) { *t += total(n) }

// A method writes to it.
func newTotal(n int64) *total {
	t := total(n)
	return &t
}

type span struct{ from, to int64 }

func newSpan(from, to int64) *span {
	s := span{from, to}
	return &s
}

// Nil says that there is none.
func limit(s string) *int {
	if s == "" {
		return nil
	}
	n := len(s)
	return &n
}

func pointerTo(n int) *int { return &n }

type cell struct{ n int }

func newCell(n int) *cell {
	c := cell{n}
	return &c
}

func bump(c *cell) { c.n++ }
