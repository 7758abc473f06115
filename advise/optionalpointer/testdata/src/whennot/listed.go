package whennot

// The constructor does not always make one.
type tile struct{ x int }

var origin = &tile{}

func newTile(x int) *tile {
	if x == 0 {
		return origin
	}
	return &tile{x: x}
}

func tiles(n int) (all []*tile) {
	for i := range n {
		all = append(all, newTile(i))
	}
	return all
}

// Something else holds it as well.
func labels(n int, byX map[int]*label) (all []*label) {
	for i := range n {
		l := newLabel(i)
		byX[i] = l
		all = append(all, l)
	}
	return all
}

type label struct{ x int }

func newLabel(x int) *label { return &label{x: x} }

// Something writes into what the callee keeps.
type limits struct{ low int }

type gate struct{ limits []*limits }

func (g *gate) allow(l *limits) { g.limits = append(g.limits, l) }

func (g *gate) raise() {
	for _, l := range g.limits {
		l.low++
	}
}

func (g *gate) fill(ns []int) {
	for _, n := range ns {
		g.allow(&limits{low: n})
	}
}

// The callee only reads it, so that it lies on the stack.
type bounds struct{ low, high int }

func within(b *bounds, n int) bool { return b.low <= n && n < b.high }

func inside(ns []int) (in int) {
	for _, n := range ns {
		if within(&bounds{low: n, high: 2 * n}, n) {
			in++
		}
	}
	return in
}

// A caller holds on to it.
type walk struct{ at, end int }

func (w *walk) step() bool { w.at++; return w.at < w.end }

type course struct {
	end  int
	last *walk
}

func (s *course) walk() *walk {
	return &walk{end: s.end}
}

func (s *course) steps() (n int) {
	w := s.walk()
	for w.step() {
		n++
	}
	s.last = w
	return n
}

// Pointers to interfaces are not of these.
func args(n int) []any {
	var all []any
	for i := range n {
		i++
		all = append(all, &i)
	}
	return all
}

// What the map has is changed afterwards.
type tally struct {
	name string
	n    int
}

func tallies(names []string) map[string]*tally {
	all := map[string]*tally{}
	for _, name := range names {
		t, ok := all[name]
		if !ok {
			t = &tally{name: name}
			all[name] = t
		}
		t.n++
	}
	return all
}

// What is returned becomes an interface.
type seq interface{ Next() bool }

type ladder struct{ at, end int }

func (l *ladder) Next() bool { l.at++; return l.at < l.end }

func rungs(end int) *ladder {
	if end < 0 {
		end = 0
	}
	return &ladder{end: end}
}

func climb(end int) seq { return rungs(end) }

// Callers link what is returned to others.
type fork struct{ left, right *twig }

type twig struct{ at int }

func (t *twig) copied() *twig {
	if t == nil {
		return nil
	}
	return &twig{at: t.at + 1}
}

func (f *fork) bend() *fork {
	left := f.left.copied()
	f.left = left
	f.right = f.right.copied()
	return f
}
