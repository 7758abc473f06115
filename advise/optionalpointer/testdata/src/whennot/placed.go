package whennot

import "sync"

// Too large even beside what holds it.
type sheet struct{ words [200]int }

type book struct{ first *sheet }

func newBook() *book { return &book{first: &sheet{words: [200]int{1}}} }

// Large, and made apart.
func (b *book) turn() { b.first = &sheet{words: [200]int{2}} }

// A lock must not be moved.
type locked struct {
	mu sync.Mutex
	n  int
}

func (l *locked) add() { l.mu.Lock(); l.n++; l.mu.Unlock() }

func lockeds(ns []int) []*locked {
	var all []*locked
	for range ns {
		all = append(all, &locked{})
	}
	return all
}

// It refers to its like.
type hop struct{ next *hop }

func (l *hop) set(n *hop) { l.next = n }

func hops(ns []int) []*hop {
	var all []*hop
	for range ns {
		all = append(all, &hop{})
	}
	return all
}

// One of the branches has it of somebody else.
type owned struct{ n int }

func owneds(known map[int]*owned, ns []int) map[int]*owned {
	out := map[int]*owned{}
	for _, n := range ns {
		var s *owned
		if s = known[n]; s == nil {
			s = &owned{n: n}
			known[n] = s
		}
		out[n] = s
	}
	return out
}

func several(all ...any) int { return len(all) }

func severals(ns []int) (n int) {
	for _, v := range ns {
		n += several(&owned{v})
	}
	return n
}
