package before

import "container/list"

// A constructor of the package makes what is listed.
type tile struct{ x, y int }

func newTile(x, y int) *tile { return &tile{x: x, y: y} }

func tiles(n int) (all []*tile, byX map[int]*tile) {
	byX = map[int]*tile{}
	for i := range n {
		all = append(all, newTile(i, n)) // want `a tile is allocated to be listed by its address`
	}
	for i := range n {
		t := newTile(n, i) // want `a tile is allocated to be listed by its address`
		t.x++
		byX[i] = t
	}
	return all, byX
}

// Its method changes it, and an element of a slice has an address as well.
type meter struct{ values []int }

func (m *meter) add(v int) { m.values = append(m.values, v) }

func meters(n int) []*meter {
	all := make([]*meter, n)
	for i := range all {
		m := &meter{} // want `a meter is allocated to be held by its address; hold the values themselves, where nothing else`
		m.values = append(m.values, i)
		all[i] = m
	}
	return all
}

var gauges = func(n int) []*meter {
	return []*meter{{values: []int{n}}, {}} // want `a meter is allocated to be listed by its address` `a meter is allocated to be listed by its address`
}

// Numbers of their own.
func counts(lengths []int) []*int {
	var all []*int
	for _, n := range lengths {
		n++
		all = append(all, &n) // want `&n is allocated to be listed by its address`
	}
	return all
}

// A field that points to a slice.
type frame struct{ lines *[]string }

func newFrame(text string) *frame {
	lines := []string{text}
	return &frame{lines: &lines} // want `lines is an allocation of its own`
}

// Nothing writes into the limits, and the callee keeps them.
type limits struct{ low, high int }

type gate struct{ limits []*limits }

func (g *gate) allow(l *limits) { g.limits = append(g.limits, l) }

func (g *gate) fill(ns []int) {
	for _, n := range ns {
		g.allow(&limits{low: n, high: n + 1}) // want `a limits is allocated to be passed by its address to allow, which keeps it`
	}
}

// The element of the list holds what could hold the links.
type order struct {
	price int
	next  *order
}

func orders(l *list.List, prices []int) {
	for _, p := range prices {
		l.PushBack(&order{price: p}) // want `a order and the element of the list that holds it are allocated apart`
	}
}

// What callers only call methods of.
type walk struct{ at, end int }

func (w *walk) step() bool { w.at++; return w.at < w.end }

type course struct{ end int }

func (s *course) walk() *walk {
	if s.end < 0 {
		s.end = 0
	}
	return &walk{end: s.end} // want `a walk is allocated to be returned by its address; returned itself, it lies in the caller's variable`
}

func (s *course) steps() (n int) {
	for w := s.walk(); w.step(); {
		n++
	}
	return n
}

// An iterator, or what may be absent; their methods change them.
type Scan struct{ rest []int }

func (s *Scan) Next() bool { s.rest = s.rest[1:]; return len(s.rest) > 0 }

func ScanOf(all []int) *Scan {
	for len(all) > 0 && all[0] == 0 {
		all = all[1:]
	}
	return &Scan{rest: all} // want `a Scan is allocated to be returned by its address; returned itself`
}

type sample struct{ values []int }

func (s *sample) add(n int) { s.values = append(s.values, n) }

func sampleOf(n int) *sample {
	if n == 0 {
		return nil
	}
	s := &sample{} // want `a sample is allocated to be returned by its address; returned itself`
	s.add(n)
	return s
}

// An array of the part is written, and not kept.
type address struct{ bytes [4]byte }

type datagram struct{ from *address }

func receive(b []byte) datagram {
	var from *address
	if len(b) == 4 {
		from = &address{} // want `from is an allocation of its own`
		copy(from.bytes[:], b)
	}
	return datagram{from: from}
}

// Handed on from one struct to the next, and written only where it is made.
type origin struct{ index int }

type received struct{ from *origin }

type queued struct{ from *origin }

func receiveOrigin(b []byte) received {
	from := &origin{} // want `from is an allocation of its own`
	from.index = int(b[0])
	return received{from: from}
}

func (o *origin) known() bool { return o != nil && o.index > 0 }

func (r received) queue() queued { return queued{from: r.from} }

// A copy is made for its address.
type stretch struct {
	first, last int
	note        string
}

func (s *stretch) widen() { s.last++ }

func find(all []stretch, n int) *stretch {
	for i := range all {
		if all[i].last >= n {
			s := all[i]
			return &s // want `a copy, a stretch, is allocated to be returned by its address`
		}
	}
	return nil
}

// A cell of a generic type, and values of a type parameter.
type cells[T any] struct {
	byName map[string]*cell[T]
	values []*T
}

type cell[T any] struct {
	name  string
	lines map[string]T
}

func (c *cells[T]) add(name string, v T) {
	e, ok := c.byName[name]
	if !ok {
		e = &cell[T]{name, map[string]T{}} // want `a cell is allocated to be held by its address`
		c.byName[name] = e
	}
	e.lines[name] = v
	c.values = append(c.values, &v) // want `&v is allocated to be listed by its address`
}
