package queue

import (
	"runtime"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// fifo is the interface that the types share, for tests over all of them and
// over faulty ones.
type fifo interface {
	Push(uint64) bool
	PushBatch([]uint64) int
	Pop() (uint64, bool)
	Drain([]uint64) int
	Len() int
}

// closer has the additional methods of unbounded queues.
type closer interface {
	fifo
	Close() uint64
	Pushed() uint64
}

type variant struct {
	name      string
	make      func() fifo
	producers int    // the most it allows; 0 means any number
	capacity  uint64 // 0 means unbounded
}

// variants covers each type with chunks and rings small enough to cross every
// boundary often. Positions start at 0, just below 2^32, and, for rings, just
// before they wrap around.
var variants = []variant{
	{"MPSC/chunk=2", func() fifo { return newMPSC[uint64](4, 2, 0) }, 0, 0},
	{"MPSC/chunk=2/retain=1", func() fifo { return newMPSC[uint64](1, 2, 1<<32-4) }, 0, 0},
	{"MPSC/chunk=8", func() fifo { return newMPSC[uint64](64, 8, 1<<32-16) }, 0, 0},
	{"MPSC", func() fifo { return NewMPSC[uint64](MPSCConfig{}) }, 0, 0},
	{"SPSC/chunk=1", func() fifo { return newSPSC[uint64](2, 1) }, 1, 0},
	{"SPSC/chunk=2", func() fifo { return newSPSC[uint64](4, 2) }, 1, 0},
	{"SPSC", func() fifo { return NewSPSC[uint64](0) }, 1, 0},
	{"MPSCRing/cap=1", func() fifo { return newMPSCRing[uint64](1, 0) }, 0, 1},
	{"MPSCRing/cap=3/wrap", func() fifo { return newMPSCRing[uint64](3, 1<<64-2) }, 0, 3},
	{"MPSCRing/cap=8", func() fifo { return newMPSCRing[uint64](8, 0) }, 0, 8},
	{"SPSCRing/cap=1", func() fifo { return newSPSCRing[uint64](1, 0) }, 1, 1},
	{"SPSCRing/cap=3/wrap", func() fifo { return newSPSCRing[uint64](3, 1<<64-2) }, 1, 3},
	{"SPSCRing/cap=8", func() fifo { return newSPSCRing[uint64](8, 0) }, 1, 8},
}

func forEach(t *testing.T, test func(t *testing.T, v variant)) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) { test(t, v) })
	}
}

// script runs the operations encoded in data, one after another, on q and on a
// slice, and reports the first difference.
func script(t *testing.T, v variant, data []byte) {
	q := v.make()
	var model []uint64
	next := uint64(1)
	buf := make([]uint64, 16)
	for at, b := range data {
		n := int(b >> 2 & 15)
		room := n
		if v.capacity > 0 {
			room = min(n, int(v.capacity)-len(model))
		}
		switch b & 3 {
		case 0:
			want := v.capacity == 0 || uint64(len(model)) < v.capacity
			if got := q.Push(next); got != want {
				t.Fatalf("step %d: Push = %v with %d values, want %v", at, got, len(model), want)
			}
			if want {
				model = append(model, next)
				next++
			}
		case 1:
			values := buf[:n]
			for i := range values {
				values[i] = next + uint64(i)
			}
			if got := q.PushBatch(values); got != room {
				t.Fatalf("step %d: PushBatch of %d = %d with %d values, want %d", at, n, got, len(model), room)
			}
			model = append(model, values[:room]...)
			next += uint64(room)
		case 2:
			got, ok := q.Pop()
			if ok != (len(model) > 0) || ok && got != model[0] {
				t.Fatalf("step %d: Pop = %d, %v; want the first of %v", at, got, ok, model)
			}
			model = model[min(1, len(model)):]
		case 3:
			got := buf[:q.Drain(buf[:n])]
			if len(got) != min(n, len(model)) {
				t.Fatalf("step %d: Drain of %d = %d values, want %d", at, n, len(got), min(n, len(model)))
			}
			for i := range got {
				if got[i] != model[i] {
					t.Fatalf("step %d: Drain = %v, want the first of %v", at, got, model)
				}
			}
			model = model[len(got):]
		}
		if q.Len() != len(model) {
			t.Fatalf("step %d: Len = %d, want %d", at, q.Len(), len(model))
		}
	}
}

func TestAgainstSlice(t *testing.T) {
	forEach(t, func(t *testing.T, v variant) {
		for seed := range uint64(200) {
			script(t, v, randomBytes(seed, 300))
		}
	})
}

func FuzzAgainstSlice(f *testing.F) {
	f.Add(byte(0), []byte{0, 2, 1 | 15<<2, 3 | 7<<2, 0, 3 | 15<<2})
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		script(t, variants[int(which)%len(variants)], data)
	})
}

// TestKeepsNothingAlive checks that a drained queue holds no reference to the
// values that went through it.
func TestKeepsNothingAlive(t *testing.T) {
	type payload struct{ _ [64]byte }
	type queue interface {
		Pop() (*payload, bool)
		Drain([]*payload) int
	}
	m, r, s := NewMPSC[*payload](MPSCConfig{}), NewMPSCRing[*payload](64), NewSPSCRing[*payload](64)
	u := newSPSC[*payload](8, 4)
	for name, tc := range map[string]struct {
		push func(*payload) bool
		pop  queue
	}{
		"MPSC":     {m.Push, m},
		"MPSCRing": {r.Push, r},
		"SPSCRing": {s.Push, s},
		"SPSC":     {u.Push, u},
	} {
		freed := make(chan struct{}, 32)
		for range 32 {
			p := new(payload)
			runtime.AddCleanup(p, func(struct{}) { freed <- struct{}{} }, struct{}{})
			tc.push(p)
		}
		tc.pop.Pop()
		if n := tc.pop.Drain(make([]*payload, 64)); n != 31 {
			t.Fatalf("%s: Drain = %d, want 31", name, n)
		}
		runtime.GC()
		for range 32 {
			<-freed // the test binary's time-out is the limit
		}
		runtime.KeepAlive(tc.pop)
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	if invariant.Race {
		t.Skip("the race detector allocates")
	}
	forEach(t, func(t *testing.T, v variant) {
		q := v.make()
		burst := 4096
		switch {
		case v.capacity > 0:
			burst = int(v.capacity)
		case v.name != "MPSC" && v.name != "SPSC":
			burst = 1 // the others retain little
		}
		buf := make([]uint64, 64)
		round := func() {
			for i := range burst {
				if !q.Push(uint64(i)) {
					t.Fatal("full")
				}
			}
			for got := 0; got < burst; {
				got += q.Drain(buf)
			}
			q.Drain(buf)
		}
		for range 8 {
			round()
		}
		if n := testing.AllocsPerRun(100, round); n != 0 {
			t.Errorf("%v allocations in rounds of %d pushes, want 0", n, burst)
		}
	})
}

// TestMemoryReturns pushes 10^6 values, drains them, and expects all memory
// back except the retention.
func TestMemoryReturns(t *testing.T) {
	for name, make := range map[string]func() fifo{
		"MPSC": func() fifo { return NewMPSC[uint64](MPSCConfig{Retain: 1024}) },
		"SPSC": func() fifo { return NewSPSC[uint64](1024) },
	} {
		t.Run(name, func(t *testing.T) { memoryReturns(t, make) })
	}
}

func memoryReturns(t *testing.T, make func() fifo) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const burst = 1_000_000
	var buf [256]uint64
	before := heap()
	q := make()
	for round := range 3 {
		for i := range uint64(burst) {
			q.Push(i)
		}
		if peak := heap() - before; round == 0 && peak < 8*burst {
			t.Errorf("the backlog of %d words occupies %d bytes; the measurement is wrong", burst, peak)
		}
		for got := 0; got < burst; {
			got += q.Drain(buf[:])
		}
		q.Drain(buf[:])
		if after := heap() - before; after > 64<<10 {
			t.Errorf("round %d: %d bytes in use after the backlog was drained, want at most %d", round, after, 64<<10)
		}
	}
	runtime.KeepAlive(q)
}

// TestBacklogBoundsMemory keeps a constant backlog and counts the chunks.
func TestBacklogBoundsMemory(t *testing.T) {
	const n, backlog = 4, 400
	q := newMPSC[uint64](8, n, 0)
	for i := range uint64(backlog) {
		q.Push(i)
	}
	for i := range uint64(100 * backlog) {
		q.Push(i)
		q.Pop()
		chunks := 0
		for c := q.oldest; c != nil; c = c.next.Load() {
			chunks++
		}
		if limit := 2*backlog/n + 8/n + 3; chunks > limit {
			t.Fatalf("after %d values: %d chunks for a backlog of %d, want at most %d", i, chunks, backlog/n, limit)
		}
	}
}

// TestClose checks that the queue accepts values until Close and none after it,
// counts those it accepted, and leaves them to the consumer.
func TestClose(t *testing.T) {
	forEach(t, func(t *testing.T, v variant) {
		q, ok := v.make().(closer)
		if !ok {
			return
		}
		for i := range uint64(5) {
			if !q.Push(i) {
				t.Fatal("Push refused before Close")
			}
		}
		if n := q.PushBatch([]uint64{5, 6}); n != 2 {
			t.Fatalf("PushBatch = %d before Close, want 2", n)
		}
		for range 2 {
			if n := q.Close(); n != 7 || q.Pushed() != 7 {
				t.Errorf("Close = %d and Pushed = %d, want 7", n, q.Pushed())
			}
			if q.Push(99) || q.PushBatch([]uint64{99, 99, 99}) != 0 {
				t.Error("accepted after Close")
			}
			if q.Len() != 7 {
				t.Errorf("Len = %d after Close, want 7", q.Len())
			}
		}
		for want := range uint64(7) {
			if got, ok := q.Pop(); !ok || got != want {
				t.Errorf("Pop = %d, %v; want %d", got, ok, want)
			}
		}
		if got, ok := q.Pop(); ok || q.Len() != 0 {
			t.Errorf("Pop = %d, %v and Len = %d past the end", got, ok, q.Len())
		}
	})
}

func TestMisusePanics(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func()
		want string
	}{
		"negative retention": {func() { NewMPSC[int](MPSCConfig{Retain: -1}) }, "queue: NewMPSC: negative Retain; want"},
		"negative retain":    {func() { NewSPSC[int](-1) }, "queue: NewSPSC: negative retain; want"},
		"zero MPSC, Close":   {func() { new(MPSC[int]).Close() }, "queue: Close: zero MPSC; make it with NewMPSC"},
		"zero SPSC":          {func() { new(SPSC[int]).Push(1) }, "queue: Push: zero SPSC; make it with NewSPSC"},
		"zero SPSC, batch":   {func() { new(SPSC[int]).PushBatch([]int{1}) }, "queue: PushBatch: zero SPSC; make it with NewSPSC"},
		"zero SPSC, Pop":     {func() { new(SPSC[int]).Pop() }, "queue: Pop: zero SPSC; make it with NewSPSC"},
		"zero SPSC, Drain":   {func() { new(SPSC[int]).Drain(make([]int, 1)) }, "queue: Drain: zero SPSC; make it with NewSPSC"},
		"zero SPSC, Close":   {func() { new(SPSC[int]).Close() }, "queue: Close: zero SPSC; make it with NewSPSC"},
		"capacity 0":         {func() { NewMPSCRing[int](0) }, "queue: NewMPSCRing: capacity 0; want 1 to"},
		"capacity -1":        {func() { NewSPSCRing[int](-1) }, "queue: NewSPSCRing: capacity -1; want 1 to"},
		"absurd capacity":    {func() { NewSPSCRing[int](maxCapacity + 1) }, "want 1 to 1073741824"},
		"zero MPSCRing":      {func() { new(MPSCRing[int]).Push(1) }, "zero MPSCRing; make it with NewMPSCRing"},
		"zero SPSCRing":      {func() { new(SPSCRing[int]).Push(1) }, "zero SPSCRing; make it with NewSPSCRing"},
		"zero MPSC":          {func() { new(MPSC[int]).Push(1) }, "queue: Push: zero MPSC; make it with NewMPSC"},
		"zero MPSC, batch":   {func() { new(MPSC[int]).PushBatch([]int{1}) }, "queue: PushBatch: zero MPSC; make it with NewMPSC"},
		"zero MPSC, Pop":     {func() { new(MPSC[int]).Pop() }, "queue: Pop: zero MPSC; make it with NewMPSC"},
		"zero MPSC, Drain":   {func() { new(MPSC[int]).Drain(make([]int, 1)) }, "queue: Drain: zero MPSC; make it with NewMPSC"},
		"zero MPSCRing, Pop": {func() { new(MPSCRing[int]).Pop() }, "queue: Pop: zero MPSCRing; make it with"},
		"zero SPSCRing, Pop": {func() { new(SPSCRing[int]).Pop() }, "queue: Pop: zero SPSCRing; make it with"},
		"zero MPSCRing, all": {func() { new(MPSCRing[int]).Drain(make([]int, 1)) }, "queue: Drain: zero MPSCRing; make it with"},
		"zero SPSCRing, all": {func() { new(SPSCRing[int]).Drain(make([]int, 1)) }, "queue: Drain: zero SPSCRing; make it with"},
		"zero ring, batch":   {func() { new(SPSCRing[int]).PushBatch([]int{1}) }, "zero SPSCRing; make it"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, tc.want) {
					t.Errorf("panic %q, want one that says %q", got, tc.want)
				}
			}()
			tc.do()
		})
	}
}

// TestSecondConsumerPanics holds a consumer inside each operation, if checks
// are compiled in, and lets another one in.
func TestSecondConsumerPanics(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("needs the race detector or -tags isobar_debug")
	}
	m, r, s, u := NewMPSC[int](MPSCConfig{}), NewMPSCRing[int](4), NewSPSCRing[int](4), NewSPSC[int](4)
	for name, tc := range map[string]struct {
		guard *guard
		do    func()
	}{
		"MPSC.Pop":           {&m.consumer, func() { m.Pop() }},
		"MPSC.Drain":         {&m.consumer, func() { m.Drain(nil) }},
		"MPSCRing.Pop":       {&r.consumer, func() { r.Pop() }},
		"MPSCRing.Drain":     {&r.consumer, func() { r.Drain(nil) }},
		"SPSCRing.Pop":       {&s.consumer, func() { s.Pop() }},
		"SPSCRing.Drain":     {&s.consumer, func() { s.Drain(nil) }},
		"SPSC.Pop":           {&u.consumer, func() { u.Pop() }},
		"SPSC.Drain":         {&u.consumer, func() { u.Drain(nil) }},
		"SPSC.Push":          {&u.producer, func() { u.Push(1) }},
		"SPSC.PushBatch":     {&u.producer, func() { u.PushBatch([]int{1}) }},
		"SPSCRing.Push":      {&s.producer, func() { s.Push(1) }},
		"SPSCRing.PushBatch": {&s.producer, func() { s.PushBatch([]int{1}) }},
	} {
		t.Run(name, func(t *testing.T) {
			tc.guard.enter("test", "other")
			func() {
				defer func() {
					_, operation, _ := strings.Cut(name, ".")
					if got, _ := recover().(string); !strings.HasPrefix(got, "queue: "+operation+": two goroutines act as the ") {
						t.Errorf("panic %q", got)
					}
				}()
				tc.do()
			}()
			tc.guard.leave()
			tc.do() // alone again: no panic
		})
	}
}

func TestChunkLen(t *testing.T) {
	for size, want := range map[uintptr]int{4: 512, 16: 512, 24: 256, 512: 16, 4096: 16} {
		if got := chunkLen(size); got != want {
			t.Errorf("chunkLen(%d) = %d, want %d", size, got, want)
		}
	}
}
