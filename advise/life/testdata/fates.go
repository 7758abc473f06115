package fates

import (
	"io"
	"reflect"
	"sync"
	"unsafe"
)

type node struct {
	name string
	buf  []byte
	next *node
	kids []*node
}

var global *node
var table = map[string]*node{}

func dies(n int) int {
	b := make([]byte, n) // make: dies
	b[0] = 1
	return len(b)
}

func returned(n int) []byte {
	return make([]byte, n) // make: the caller, as a result
}

func throughVariable(n int) []byte {
	b := make([]byte, n) // make: the caller, as a result
	c := b[1:]
	return c
}

func inField(x *node, n int) {
	x.buf = make([]byte, n) // make: field node.buf
}

func inOwnField(n int) int {
	x := &node{}            // composite literal: dies
	x.buf = make([]byte, n) // make: dies
	return len(x.buf)
}

func inReturned(n int) *node {
	x := &node{}            // composite literal: the caller, as a result
	x.buf = make([]byte, n) // make: the caller, as a result
	return x
}

func inElement(x *node) {
	x.kids[0] = &node{} // composite literal: field node.kids
}

func appended(x *node) {
	x.kids = append(x.kids, &node{}) // composite literal: field node.kids; append: field node.kids
}

func after(x *node) *node {
	return &node{next: x} // composite literal: the caller, as a result
}

func takenOut() *node {
	return after(&node{}).next // composite literal: perhaps the caller, as a result
}

type holder interface{ hold(x *node) }

type last struct{ list []holder }

var lasts []*last

func (l *last) hold(x *node) { lasts = append(lasts, l) } // append: package variable lasts

func receiver(x *node) {
	var h holder = &last{} // composite literal: perhaps holder.hold
	h.hold(x)
}

func received(n int) []byte {
	c, done := make(chan []byte, 1), make(chan bool) // channel: dies; channel: dies
	c <- make([]byte, n)                             // make: the caller, as a result
	select {
	case b := <-c:
		return b
	case <-done:
	}
	return nil
}

func inGlobal() { global = &node{} } // composite literal: package variable global

func inTable(k string) { table[k] = &node{} } // composite literal: package variable table

func sent(c chan *node) { c <- &node{} } // composite literal: the receiver of a channel, what parameter c refers to

func started() {
	x := &node{} // composite literal: goroutine fates.work
	go work(x)
}

func work(x *node) { x.name = "" }

func reads(x *node) int { return len(x.name) }

func keeps(x *node) { global = x }

func links(x, y *node) { x.next = y }

func same(x *node) *node { return x }

func given() int {
	x := &node{} // composite literal: dies
	return reads(x)
}

func givenAway() {
	keeps(&node{}) // composite literal: package variable global
}

func linked(x *node) {
	links(x, &node{}) // composite literal: field node.next
}

func linkedLocally() int {
	x := &node{}      // composite literal: dies
	links(x, &node{}) // composite literal: dies
	return reads(x.next)
}

func handedThrough() *node {
	return same(&node{}) // composite literal: the caller, as a result
}

func unknown(f func(*node) error) {
	f(&node{}) // composite literal: perhaps f
}

func written(w io.Writer, s string) {
	w.Write([]byte(s)) // conversion: dies
}

func text(b []byte) bool {
	s := string(b) // conversion: dies
	return s == "x" || s == "y"
}

func piece(b []byte) string {
	s := string(b) // conversion: the caller, as a result
	return s[1:]
}

func captured(n int) int {
	x := 0
	add := func() { x += n } // closure: dies
	add()
	return x
}

func capturedBuffer(n int) func() int {
	b := make([]byte, n)                // make: the caller, as a result
	return func() int { return len(b) } // closure: the caller, as a result
}

func recursive(x *node, depth int) {
	if depth > 0 {
		recursive(&node{next: x}, depth-1) // composite literal: dies
	}
}

func mutual(x *node, n int) {
	if n == 0 {
		global = x
		return
	}
	mutual2(x, n-1)
}

func mutual2(x *node, n int) { mutual(x, n) }

func throughBoth() {
	mutual2(&node{}, 3) // composite literal: package variable global
}

func contents(x *node) *node { return x.next }

func loaded() *node {
	x := &node{}       // composite literal: dies
	x.next = &node{}   // composite literal: perhaps the caller, as a result
	return contents(x) // only the contents
}

func byValue() node {
	x := &node{buf: []byte("x")} // composite literal: dies; conversion: the caller, as a result
	return *x
}

func joined(a, b string) int { return len(a + b + a) } // concatenation: dies

func boxed(n int) any { return n } // boxing: the caller, as a result

func method(x *node) func() int { return x.count } // method value: the caller, as a result

func (n *node) count() int { return len(n.kids) }

func deferred() {
	x := &node{} // composite literal: dies
	defer work(x)
}

type pair struct{ a, b *node }

func inPair() pair {
	return pair{a: &node{}} // composite literal: the caller, as a result
}

func rounds(n int) (sum int) {
	for range n {
		b := make([]byte, n) // make: dies in the round
		sum += len(b)
	}
	return sum
}

func acrossRounds(n int) int {
	var last []byte
	for range n {
		b := make([]byte, n) // make: dies
		last = b
	}
	return len(last)
}

func collected(n int) int {
	var all [][]byte
	for range n {
		all = append(all, make([]byte, n)) // make: dies; append: dies
	}
	return len(all)
}

func each(n int, f func(int) string) int {
	var x any
	for i := range n {
		x = f(i)
	}
	return len(x.(string))
}

func generic[T any](x *T) *T { return x }

func ofGeneric() *node {
	return generic(&node{}) // composite literal: the caller, as a result
}

func filled(n int) []byte {
	var out []byte
	fill := func() { // closure: dies
		out = make([]byte, n) // make: what filled returns
	}
	fill()
	return out
}

// What lies in one field is not found in another.
func otherField(n int) string {
	x := &node{name: "x"}   // composite literal: dies
	x.buf = make([]byte, n) // make: dies
	return x.name
}

func ownField(n int) []byte {
	x := &node{name: "x"}   // composite literal: dies
	x.buf = make([]byte, n) // make: the caller, as a result
	return x.buf
}

type frame struct {
	at    *node
	spare []byte
}

// What is put behind a field belongs to what that refers to.
func behind(x *node, n int) {
	f := &frame{at: x} // composite literal: dies
	fillBehind(f, n)
	f.at.kids[0] = &node{} // composite literal: field node.kids
}

func fillBehind(f *frame, n int) {
	f.at.buf = make([]byte, n) // make: field node.buf
}

type problem struct{ of *node }

func (p *problem) Error() string { return p.of.name }

func mayFail(n int) error {
	x := &node{} // composite literal: the caller, as a result
	if n < 0 {
		return &problem{x} // composite literal: the caller, as a result
	}
	return nil
}

func unsafely(p unsafe.Pointer) {
	*(**node)(unsafe.Pointer(uintptr(p) + 8)) = &node{} // composite literal: what an unsafe pointer refers to
	*(**node)(unsafe.Add(p, 8)) = &node{}               // composite literal: what parameter p refers to
}

var pool sync.Pool

func pooled(n int) {
	x := pool.Get().(*node)
	x.buf = make([]byte, n) // make: field node.buf
	pool.Put(x)
}

type owner struct {
	own  sync.Pool
	lent *sync.Pool
}

func (o *owner) put(other *sync.Pool) {
	pool.Put(&node{})   // composite literal: package variable pool
	o.own.Put(&node{})  // composite literal: field owner.own
	o.lent.Put(&node{}) // composite literal: field owner.lent
	other.Put(&node{})  // composite literal: variable of type sync.Pool
}

// What an element refers to is not the element.
func beyondElement() *node {
	all := []*node{{next: global}} // composite literal: dies; composite literal: dies
	return all[0].next
}

// What a new object refers to is not a part of it.
func intoMade(x *node, n int) *node {
	y := after(x)
	y.buf = make([]byte, n) // make: the caller, as a result
	return y
}

func behindMade(x *node, n int) {
	y := after(x)
	y.next.buf = make([]byte, n) // make: field node.buf
}

func fillNext(x *node, b []byte) { x.next.buf = b }

func filledNext(x *node, n int) {
	y := &node{next: x}          // composite literal: dies
	fillNext(y, make([]byte, n)) // make: field node.buf
}

type keeper interface{ keep(x *node) }

type box struct{ x *node }

func (b *box) keep(x *node) { b.x = x }

func keptBy(k keeper) {
	k.keep(&node{}) // composite literal: perhaps keeper.keep
}

// What a method of an interface or a function value does is not certain.
type sink interface{ put(x *node) }

type drop struct{}

func (drop) put(x *node) { x.name = "" }

type store struct{ x *node }

func (s *store) put(x *node) { s.x = x }

func putBy(s sink) {
	s.put(&node{}) // composite literal: perhaps sink.put
}

func chosen(y *node) { y.name = "" }

func chosenToo(x *node) { global = x }

func choice(which bool) {
	f := chosen
	if which {
		f = chosenToo
	}
	f(&node{}) // composite literal: perhaps a function value
}

// A goroutine that may be waited for need not keep anything.
func waited(n int) []byte {
	b := make([]byte, n) // make: perhaps goroutine waited.func1 and the caller, as a result
	var wg sync.WaitGroup
	wg.Add(1)
	go func() { // closure: perhaps goroutine waited.func1
		defer wg.Done()
		b[0] = 1
	}()
	wg.Wait()
	return b
}

func received2(n int) int {
	b := make([]byte, n)    // make: perhaps goroutine received2.func1
	done := make(chan bool) // channel: perhaps goroutine received2.func1
	for range 2 {
		go func() { done <- len(b) > 0 }() // closure: perhaps goroutine received2.func1
	}
	for range 2 {
		<-done
	}
	return len(b)
}

func notWaited(n int, which bool) int {
	b := make([]byte, n)             // make: perhaps goroutine notWaited.func1
	done := make(chan bool)          // channel: perhaps goroutine notWaited.func1
	go func() { done <- b != nil }() // closure: perhaps goroutine notWaited.func1
	if which {
		<-done
	}
	return n
}

func inGroup(n int, g *sync.WaitGroup) int {
	b := make([]byte, n)    // make: goroutine sync.WaitGroup.Go
	g.Go(func() { b[0]++ }) // closure: goroutine sync.WaitGroup.Go
	return n
}

// Reflection is open.
func reflected(x *node) {
	reflect.ValueOf(x).Elem().Set(reflect.ValueOf(node{buf: []byte("x")})) // boxing: perhaps reflect.ValueOf; conversion: perhaps reflect.ValueOf
}

// One field of several need not be the one.
func anyField(xs []any) *node {
	x := &node{}              // composite literal: the caller, as a result
	xs = []any{node{next: x}} // boxing: perhaps the caller, as a result; composite literal: dies
	return xs[0].(node).next
}

// The compiler makes no list for append to copy, and nothing of no bytes.
func grown(b []byte, n int) []byte {
	b = append(b, make([]byte, n)...) // append: dies
	b = append(b, make([]byte, 4)...) // append: dies
	return append([]byte{}, b...)     // append: the caller, as a result
}

// A text holds nothing that is put anywhere.
type parsed struct {
	text string
	next *parsed
}

func parse(text string) *parsed { return &parsed{text: text} } // composite literal: the caller, as a result

func parseTwo(text string) bool {
	p := parse(text)
	p.next = &parsed{} // composite literal: dies
	return p.next == p
}

// An iterator does not keep the body of the loop over it.
func lastOf(seq func(yield func(int) bool)) (out []byte) {
	for n := range seq { // closure: dies
		out = make([]byte, n) // make: what lastOf returns
	}
	return out
}
