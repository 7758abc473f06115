package pool

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

func TestClasses(t *testing.T) {
	if got := classSize(0); got != MinBytes {
		t.Errorf("smallest class is %d", got)
	}
	if got := classSize(numClasses - 1); got != MaxBytes {
		t.Errorf("largest class is %d", got)
	}
	for i := range numClasses {
		size := classSize(i)
		if got := classOf(size); got != i {
			t.Errorf("classOf(%d) = %d, want %d", size, got, i)
		}
		if i+1 < numClasses {
			if got := classOf(size + 1); got != i+1 {
				t.Errorf("classOf(%d) = %d, want %d", size+1, got, i+1)
			}
			if next := classSize(i + 1); (next-size)*5 > next {
				t.Errorf("from %d to %d wastes more than a fifth", size, next)
			}
		}
	}
	for _, n := range []int{0, 1, 63} {
		if classOf(n) != 0 {
			t.Errorf("classOf(%d) = %d", n, classOf(n))
		}
	}
}

// TestBytesNeverShares fills every buffer with its holder's number and checks
// that nobody else writes to it.
func TestBytesNeverShares(t *testing.T) {
	p := NewBytes()
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(3, uint64(w)))
			var held [][]byte
			for range 2000 {
				if i := rng.IntN(20); i < len(held) {
					b := held[i]
					held[i] = held[len(held)-1]
					held = held[:len(held)-1]
					for _, c := range b {
						if c != byte(w+1) {
							t.Errorf("buffer of %d is shared", len(b))
							return
						}
					}
					p.Put(b[:rng.IntN(len(b)+1)])
					continue
				}
				n := 1 + rng.IntN(1<<rng.IntN(14))
				b := p.Get(n)
				if len(b) != n || cap(b) != classSize(classOf(n)) {
					t.Errorf("Get(%d): length %d, capacity %d", n, len(b), cap(b))
				}
				for i := range b {
					b[i] = byte(w + 1)
				}
				held = append(held, b)
			}
			for _, b := range held {
				p.Put(b)
			}
		})
	}
	runtime.GC()
	runtime.GC()
	wg.Wait()
	s := p.Stats()
	if counting && (s.InUse != 0 || s.Misses != uint64(s.Idle)+s.Evicted) {
		t.Errorf("counts do not add up: %+v", s)
	}
	if s.Discarded != 0 || s.Idle > 0 && s.IdleBytes < s.Idle*MinBytes {
		t.Errorf("stats: %+v", s)
	}
}

func TestBytesOversize(t *testing.T) {
	p := NewBytes()
	b := p.Get(MaxBytes + 1)
	if len(b) != MaxBytes+1 {
		t.Errorf("length %d", len(b))
	}
	p.Put(b)
	if s := p.Stats(); s.Oversize != 1 || s.Misses != 0 || s.Idle != 0 || s.InUse != 0 {
		t.Errorf("stats: %+v", s)
	}
}

func TestBytesWarm(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // another P would not find what this one has taken from the depot
	p := NewBytes()
	p.Warm(1000, 50)
	for range 50 {
		p.Get(1000)
	}
	if s := p.Stats(); s.Misses != 0 || s.Warmed != 50 {
		t.Errorf("stats: %+v", s)
	}
}

func TestBytesDiscardsForeignCapacity(t *testing.T) {
	if invariant.Enabled {
		t.Skip("debug builds panic")
	}
	p := NewBytes()
	p.Put(p.Get(1024)[100:])
	p.Put(make([]byte, 0, 1000))
	p.Put(nil)
	if s := p.Stats(); s.Discarded != 3 || s.Idle != 0 {
		t.Errorf("stats: %+v", s)
	}
	for range 10 {
		if b := p.Get(900); cap(b) != 1024-128 && cap(b) != classSize(classOf(900)) {
			t.Errorf("capacity %d", cap(b))
		}
	}
}
