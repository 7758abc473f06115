// Package planted makes memory whose lifetime is known: TestMeasured has the table.
package planted

import (
	"errors"
	"strings"
	"sync"
)

type record struct {
	name string
	data [64]byte
}

// T keeps things.
type T struct {
	last  []byte
	all   map[int]*record
	ch    chan *record
	chain *record2
	box   any
}

type record2 struct {
	next *record2
	data [100]byte
}

var global []byte

var sink int

var pool = sync.Pool{New: func() any { return new(record) }}

//go:noinline
func use(b []byte) int { return len(b) + cap(b) }

// Dies is dead with the call.
//
//go:noinline
func Dies(n int) int {
	b := make([]byte, n)
	for i := range b {
		b[i] = 1
	}
	return use(b)
}

// inner returns what Outer drops.
//
//go:noinline
func inner(n int) []byte {
	return make([]byte, n+1)
}

// Outer drops it.
func Outer(n int) int {
	return use(inner(n))
}

// Rounds makes one in each round.
func Rounds(n int) (sum int) {
	for range 10 {
		b := make([]byte, n+2)
		sum += use(b)
	}
	return sum
}

// Several has several live until it returns.
func Several(n int) (sum int) {
	var all [][]byte
	for range 10 {
		all = append(all, make([]byte, n+3))
	}
	for _, b := range all {
		sum += use(b)
	}
	return sum
}

// Returns it to the caller.
//
//go:noinline
func Returns(n int) *record {
	return &record{name: strings.Repeat("x", n)}
}

// Keep keeps it in a field, until the next call.
func (t *T) Keep(n int) {
	t.last = make([]byte, n+4)
}

// Enter keeps it in a map.
func (t *T) Enter(n int) {
	t.all[n] = &record{}
}

// Link keeps it in a list.
func (t *T) Link() {
	t.chain = &record2{next: t.chain}
}

// Send puts it in a channel.
func (t *T) Send() {
	select {
	case t.ch <- &record{}:
	default:
	}
}

// Global keeps it in a variable.
func Global(n int) {
	global = make([]byte, n+5)
}

// Pooled takes and gives back.
func Pooled() int {
	r := pool.Get().(*record)
	defer pool.Put(r)
	return len(r.name)
}

// Goes hands it to a goroutine, which keeps it in its stack while it waits.
func Goes(wait chan bool, n int) {
	b := make([]byte, n+6)
	go func() {
		<-wait
		use(b)
	}()
}

// Generic drops it.
func Generic[E any](n int) int {
	s := make([]E, n+7)
	return len(s) + cap(s)
}

type tree struct {
	left, right *tree
	data        [48]byte
}

// Tree returns it through all calls of itself.
func Tree(depth int) *tree {
	if depth == 0 {
		return nil
	}
	return &tree{left: Tree(depth - 1), right: Tree(depth - 1)}
}

// Recovers lets go of it by a panic.
func Recovers(n int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("recovered")
		}
	}()
	fails(make([]byte, n+8))
	return nil
}

//go:noinline
func fails(b []byte) {
	if use(b) > 0 {
		panic("always")
	}
}

// Named has its result set by a deferred call.
func Named(n int) (b []byte, _ error) {
	defer func() { b = make([]byte, n+9) }()
	return nil, nil
}

// Shadow has parameters that are named as types, and drops what it makes.
func Shadow(string int, _ bool, more ...int) (len int) {
	b := make([]byte, string+10)
	return use(b) + cap(more)
}

// buffer is a local variable that has memory of its own.
type buffer struct{ b []byte }

func (b *buffer) fill(n int) { b.b = make([]byte, n+11) }

// Local has a method keep it in a variable of its own.
func Local(n int) int {
	var b buffer
	b.fill(n)
	return use(b.b)
}

// Captured has a function literal keep it in a variable of its own.
func Captured(n int) int {
	var b []byte
	each(func(i int) { b = make([]byte, n+i+12) })
	return use(b)
}

//go:noinline
func each(f func(int)) { f(1) }

var table = build(1000)

// build runs as the package is initialized, too.
func build(n int) map[string]int {
	m := map[string]int{}
	for i := range n / 100 {
		m[strings.Repeat("entry ", i+1)] = i
	}
	return m
}

// Build drops it.
func Build() int { return len(build(1000)) + len(table) }

// Box keeps it in an interface of a field.
func (t *T) Box(n int) {
	t.box = strings.Repeat("box", n)
}

// Prepared keeps what benchmarks prepare, and drops what they time.
//
//go:noinline
func Prepared(t *T, n int) {
	t.all[n] = &record{}
	if n < 0 {
		clear(t.all)
	}
}
