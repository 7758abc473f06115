package pool

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Held is an object that was taken from a pool and not given back.
type Held struct {
	Where string        // who took it: up to three calling functions, one a line, innermost first
	Age   time.Duration // how long ago
	Lost  bool          // it became unreachable and can no longer be given back
}

// String returns one line: how long the object has been held and the innermost
// function.
func (h Held) String() string {
	what := "held for"
	if h.Lost {
		what = "lost; taken"
	}
	first, _, _ := strings.Cut(h.Where, "\n")
	return fmt.Sprintf("%s %v, by %s", what, h.Age.Round(time.Millisecond), first)
}

// A tracker knows every object of a pool, whether it is held or idle, and who
// took it or gave it back. It does not keep objects alive. It exists in debug
// and race builds.
type tracker[T any] struct {
	name   string // of the type with Get and Put, for messages; set by init
	layout layout // of T; set by init
	mask   T      // what poison makes of a T; set by init
	mu     sync.Mutex
	known  map[uintptr]*record[T] // by address; guarded by mu
	lost   []*record[T]           // guarded by mu; at most maxLost, oldest first
}

const maxLost = 100

// A record is guarded by its tracker's mu, except saved, which belongs to
// whoever takes the object or gives it back.
type record[T any] struct {
	size     int // of the object in bytes
	held     bool
	poisoned bool
	at       time.Time
	callers  [3]uintptr
	saved    T // the object as it was before poisoning
}

func (r *record[T]) where() string {
	var lines []string
	frames := runtime.CallersFrames(r.callers[:])
	for {
		f, more := frames.Next()
		if f.Function != "" {
			lines = append(lines, fmt.Sprintf("%s (%s:%d)", f.Function, f.File, f.Line))
		}
		if !more {
			return strings.Join(lines, "\n")
		}
	}
}

func (t *tracker[T]) init(name string) {
	t.name = name
	t.known = make(map[uintptr]*record[T])
	t.layout = layoutOf[T]()
	t.layout.fill(view(&t.mask))
}

// create records a new object of size bytes, which is idle until take.
func (t *tracker[T]) create(x *T, size int) {
	key, r := address(x), &record[T]{size: size}
	t.mu.Lock()
	if old := t.known[key]; old != nil {
		// Its memory was collected and allocated again before its cleanup ran.
		t.gone(old)
	}
	t.known[key] = r
	t.mu.Unlock()
	runtime.AddCleanup(x, func(r *record[T]) {
		t.mu.Lock()
		if t.known[key] == r {
			delete(t.known, key)
			t.gone(r)
		}
		t.mu.Unlock()
	}, r)
}

// gone keeps the record of an object that was collected while held. The caller
// holds mu.
func (t *tracker[T]) gone(r *record[T]) {
	if !r.held {
		return
	}
	if len(t.lost) == maxLost {
		t.lost = slices.Delete(t.lost, 0, 1)
	}
	t.lost = append(t.lost, r)
}

// take checks that nobody wrote to x since it was given back, removes the
// poison and records the holder. buf is the memory of a byte buffer.
func (t *tracker[T]) take(x *T, buf []byte) {
	t.mu.Lock()
	r := t.known[address(x)]
	r.held = true
	t.mu.Unlock()
	if r.poisoned {
		if at := t.damage(x, buf); at >= 0 {
			panic(fmt.Sprintf("pool: %s.Get: the object at %p was written to after Put, at byte %d; it was put %v ago "+
				"by\n%s\nDrop every reference before Put.",
				t.name, x, at, time.Since(r.at).Round(time.Microsecond), r.where()))
		}
		if buf == nil {
			*x = r.saved
			r.saved = *new(T)
		}
		r.poisoned = false
	}
	t.mu.Lock()
	t.note(r)
	t.mu.Unlock()
}

// giveBack checks that x is held and still has its original size of size bytes.
func (t *tracker[T]) giveBack(x *T, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.known[address(x)]
	if r == nil || r.size != size {
		panic(fmt.Sprintf("pool: %s.Put: the object at %p is not from this pool; put what Get returned, from its first "+
			"byte and with its whole capacity", t.name, x))
	}
	if !r.held {
		panic(fmt.Sprintf("pool: %s.Put: the object at %p is put twice; it was put %v ago by\n%s\nPut once, and drop "+
			"every reference before.",
			t.name, x, time.Since(r.at).Round(time.Microsecond), r.where()))
	}
	r.held = false
	t.note(r)
}

// note records the caller of the exported method three frames up. The caller of
// note holds mu.
func (t *tracker[T]) note(r *record[T]) {
	r.at = time.Now()
	r.callers = [3]uintptr{}
	runtime.Callers(4, r.callers[:])
}

// poison makes an idle object unusable until take. buf may get any bytes; a T
// loses its pointers and gets improbable numbers.
func (t *tracker[T]) poison(x *T, buf []byte) {
	t.mu.Lock()
	r := t.known[address(x)]
	t.mu.Unlock()
	if buf != nil {
		fillPoison(buf)
	} else {
		r.saved = *x
		*x = t.mask
	}
	r.poisoned = true
}

// damage returns the offset of the first byte that changed since poison, or -1.
func (t *tracker[T]) damage(x *T, buf []byte) int {
	if buf != nil {
		return slices.IndexFunc(buf, func(c byte) bool { return c != poisonByte })
	}
	return t.layout.differ(view(x), view(&t.mask))
}

// list implements Held.
func (t *tracker[T]) list() []Held {
	t.mu.Lock()
	defer t.mu.Unlock()
	var held []Held
	add := func(r *record[T], lost bool) {
		held = append(held, Held{Where: r.where(), Age: time.Since(r.at), Lost: lost})
	}
	for _, r := range t.known {
		if r.held {
			add(r, false)
		}
	}
	for _, r := range t.lost {
		add(r, true)
	}
	slices.SortFunc(held, func(a, b Held) int { return int(b.Age - a.Age) })
	return held
}
