package graph

import "strings"

// A Goroutine has the analysis of the image's goroutine of the same index.
type Goroutine struct {
	Retained uint64 // bytes held by its stack alone
	Forever  bool   // nothing that can run reaches what would wake it
}

// forever finds the goroutines that can never be woken: they wait for what only they, and others
// like them, can reach. A goroutine counts as able to run until shown otherwise. The method is
// that of Saioc et al., Dynamic Partial Deadlock Detection and Recovery via Garbage Collection
// (ASPLOS 2025), also used by the runtime's profile of leaked goroutines.
func (a *analysis) forever() {
	f := &liveness{a: a, live: make([]bool, int(a.first)+len(a.slots)), hidden: make(map[uint32]bool)}
	blocked := make(map[int32]bool)
	for i := range a.g.im.Goroutines {
		g := &a.g.im.Goroutines[i]
		if strings.HasPrefix(g.Start, "runtime.") || !g.Wait.Never() && len(g.Wait.On) == 0 {
			continue
		}
		blocked[int32(i)] = true
		for _, addr := range g.Wait.Records {
			if v := a.nodeAt(addr); v != 0 {
				f.hidden[v] = true
			}
		}
	}
	roots := make(map[int32]uint32)
	for i, r := range a.g.roots {
		if !blocked[r.g] {
			f.mark(uint32(1 + i))
		} else {
			roots[r.g] = uint32(1 + i)
		}
	}
	for again := true; again; {
		f.drain()
		again = false
		for i := range blocked {
			w := &a.g.im.Goroutines[i].Wait
			if !f.anyLive(w.On) {
				continue
			}
			f.show(w.Records)
			if root, ok := roots[i]; ok {
				f.mark(root)
			}
			delete(blocked, i)
			again = true
		}
	}
	a.res.Goroutines = make([]Goroutine, len(a.g.im.Goroutines))
	for i := range blocked {
		a.res.Goroutines[i].Forever = true
	}
	for i, slot := range a.slots {
		if !f.live[a.first+uint32(i)] {
			a.res.Forever += a.g.im.SpanOf(slot).Elem
		}
	}
}

// nodeAt returns the node of the live object at an address; 0 if there is none.
func (a *analysis) nodeAt(addr uint64) (v uint32) {
	if slot, s, _ := a.g.im.Object(addr); s != nil {
		v = a.id[slot]
	}
	return v
}

// A liveness is the state of one forever.
type liveness struct {
	a      *analysis
	live   []bool
	hidden map[uint32]bool // records of goroutines that may wait for ever; not followed
	queue  []uint32
}

func (f *liveness) mark(v uint32) {
	if !f.live[v] {
		f.live[v] = true
		f.queue = append(f.queue, v)
	}
}

func (f *liveness) drain() {
	for len(f.queue) > 0 {
		v := f.queue[len(f.queue)-1]
		f.queue = f.queue[:len(f.queue)-1]
		if !f.hidden[v] {
			for _, to := range f.a.graph.To[f.a.graph.Start[v]:f.a.graph.Start[v+1]] {
				f.mark(to)
			}
		}
	}
}

// anyLive reports whether one of several objects is live, or outside of the heap,
// where anybody may reach it.
func (f *liveness) anyLive(addrs []uint64) bool {
	for _, addr := range addrs {
		if v := f.a.nodeAt(addr); v == 0 || f.live[v] {
			return true
		}
	}
	return false
}

// show follows the records of a goroutine that can run after all.
func (f *liveness) show(records []uint64) {
	for _, addr := range records {
		if v := f.a.nodeAt(addr); v != 0 {
			delete(f.hidden, v)
			f.live[v] = true
			f.queue = append(f.queue, v)
		}
	}
}
