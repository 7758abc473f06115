package slab

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

type node struct {
	left, right Handle[node]
	key         uint32
	_           [3]byte
}

var configs = map[string]Config{
	"mapped": {Purpose: "slab test"},
	"heap":   {OnHeap: true},
	"huge":   {HugePages: true, Purpose: "slab test"},
}

// A store is the interface that Slab and the model share.
type store interface {
	Insert(int) Handle[int]
	get(Handle[int]) (int, bool)
	Remove(Handle[int]) bool
	Clear()
	Len() int
}

type slabStore struct{ *Slab[int] }

func (s slabStore) get(h Handle[int]) (int, bool) {
	if v, ok := s.Get(h); ok {
		return *v, true
	}
	return 0, false
}

type concurrentStore struct{ *Concurrent[int] }

func (s concurrentStore) get(h Handle[int]) (int, bool) { return s.Get(h) }

// run takes each byte as an operation and compares the store with a map.
func run(t *testing.T, s store, ops []byte) {
	model := map[Handle[int]]int{}
	var handles []Handle[int] // every handle ever returned
	check := func(h Handle[int]) {
		want, wantOK := model[h]
		if got, ok := s.get(h); ok != wantOK || ok && got != want {
			t.Fatalf("Get(%#x) = %d, %t; want %d, %t", h, got, ok, want, wantOK)
		}
	}
	for i, op := range ops {
		switch {
		case op >= 254:
			s.Clear()
			clear(model)
		case op%3 != 0 && len(handles) > 0:
			h := handles[int(op)*7919%len(handles)]
			if op%2 == 0 {
				h = handles[len(handles)-1-int(op)%min(len(handles), 10)]
			}
			check(h)
			_, want := model[h]
			if got := s.Remove(h); got != want {
				t.Fatalf("Remove(%#x) = %t, want %t", h, got, want)
			}
			delete(model, h)
			check(h)
		default:
			h := s.Insert(i)
			if _, taken := model[h]; taken || h == 0 {
				t.Fatalf("Insert returned handle %#x, which names another object", h)
			}
			handles, model[h] = append(handles, h), i
		}
		if s.Len() != len(model) {
			t.Fatalf("Len() = %d, want %d", s.Len(), len(model))
		}
	}
	for _, h := range handles {
		check(h)
	}
	check(0)
	check(Handle[int](math.MaxUint64))
}

func stores(t *testing.T) map[string]store {
	all := map[string]store{}
	for name, config := range configs {
		s, err := New[int](config)
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewConcurrent[int](config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Release)
		t.Cleanup(c.Release)
		all[name], all[name+" concurrent"] = slabStore{s}, concurrentStore{c}
	}
	return all
}

func TestAgainstAMap(t *testing.T) {
	ops := make([]byte, 20000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range ops {
		ops[i] = byte(rng.IntN(254))
		if i%5000 == 4999 {
			ops[i] = 255
		}
	}
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) { run(t, s, ops) })
	}
}

func FuzzSlab(f *testing.F) {
	f.Add([]byte{0, 3, 6, 1, 2, 4, 0, 255, 0, 3, 5, 7})
	f.Fuzz(func(t *testing.T, ops []byte) {
		ops = ops[:min(len(ops), 2000)] // more only takes longer
		for _, s := range stores(t) {
			run(t, s, ops)
		}
	})
}

func TestGraphSurvivesCollections(t *testing.T) {
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			s, err := New[node](config)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Release()
			var build func(depth int, key uint32) Handle[node]
			build = func(depth int, key uint32) Handle[node] {
				n := node{key: key}
				if depth > 0 {
					n.left, n.right = build(depth-1, 2*key), build(depth-1, 2*key+1)
				}
				return s.Insert(n)
			}
			var sum func(h Handle[node]) (int, uint64)
			sum = func(h Handle[node]) (int, uint64) {
				n, ok := s.Get(h)
				if !ok {
					return 0, 0
				}
				l, a := sum(n.left)
				r, b := sum(n.right)
				return l + r + 1, a + b + uint64(n.key)
			}
			root := build(14, 1)
			for range 3 {
				runtime.GC()
			}
			if count, keys := sum(root); count != 1<<15-1 || keys != (1<<15)*(1<<15-1)/2 {
				t.Errorf("walk found %d nodes with keys adding up to %d", count, keys)
			}
		})
	}
}

func TestHeapSlabHoldsPointers(t *testing.T) {
	type entry struct {
		name string
		tags []string
		meta map[string]*int
	}
	s, err := New[entry](Config{OnHeap: true})
	if err != nil {
		t.Fatal(err)
	}
	handles := make([]Handle[entry], 3000)
	for i := range handles {
		n := i
		handles[i] = s.Insert(entry{fmt.Sprint("n", i), []string{fmt.Sprint("t", i)}, map[string]*int{"k": &n}})
	}
	for range 5 {
		runtime.GC()
	}
	for i, h := range handles {
		e, ok := s.Get(h)
		if !ok || e.name != fmt.Sprint("n", i) || e.tags[0] != fmt.Sprint("t", i) || *e.meta["k"] != i {
			t.Fatalf("object %d is corrupt: %+v", i, e)
		}
	}
	dropped := make(chan struct{})
	func() {
		big := new(int)
		runtime.AddCleanup(big, func(int) { close(dropped) }, 0)
		s.Remove(s.Insert(entry{meta: map[string]*int{"big": big}}))
	}()
	collected := false
	for i := 0; i < 1000 && !collected; i++ {
		runtime.GC()
		select {
		case <-dropped:
			collected = true
		default:
			runtime.Gosched() // the cleanup runs in its own goroutine
		}
	}
	if !collected {
		t.Error("an object held by a removed object was not collected")
	}
	s.Clear()
	if _, ok := s.Get(handles[7]); ok {
		t.Error("Clear left an object")
	}
}

func TestGenerationsAreNotUsedTwice(t *testing.T) {
	s, err := New[int](Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	first := s.Insert(1)
	s.Remove(first)
	s.at(0).meta = metaOf(math.MaxUint32-1, freeBit|none)
	var old []Handle[int]
	for range 2 {
		h := s.Insert(2)
		if h.slot() != 0 {
			t.Fatalf("slot %d, want 0", h.slot())
		}
		if !s.Remove(h) || s.Remove(h) {
			t.Error("Remove is not true once")
		}
		old = append(old, h)
	}
	if h := s.Insert(3); h.slot() == 0 {
		t.Error("a slot whose generations are exhausted was used again")
	}
	if st := s.Stats(); st.Retired != 1 || st.Live != 1 || st.Free != 0 {
		t.Errorf("stats %+v, want 1 retired, 1 live", st)
	}
	s.Clear()
	if h := s.Insert(4); h.slot() == 0 {
		t.Error("Clear brought a retired slot back")
	}
	for _, h := range append(old, first) {
		if _, ok := s.Get(h); ok {
			t.Errorf("stale handle %#x is valid", h)
		}
	}
}

func TestClearOfALiveLastGeneration(t *testing.T) {
	s, _ := New[int](Config{})
	defer s.Release()
	s.Remove(s.Insert(1))
	s.at(0).meta = metaOf(math.MaxUint32, freeBit|none)
	last := s.Insert(2)
	s.Clear()
	s.Insert(3)
	if _, ok := s.Get(last); ok {
		t.Error("an object lives on after Clear")
	}
	for h, v := range s.All() {
		if *v != 3 {
			t.Errorf("All visits %#x: %d, which was cleared", h, *v)
		}
	}
}

func TestAllVisitsInOrderAndAllowsRemoval(t *testing.T) {
	s, _ := New[int](Config{})
	defer s.Release()
	var want []int
	for i := range 3000 {
		s.Insert(i)
	}
	for h, v := range s.All() {
		if *v%3 == 0 {
			s.Remove(h)
		} else {
			want = append(want, *v)
		}
	}
	i := 0
	for h, v := range s.All() {
		if *v != want[i] {
			t.Fatalf("object %d is %d, want %d", i, *v, want[i])
		}
		if got, ok := s.Get(h); !ok || got != v {
			t.Fatalf("Get of the current handle: %v, %t", got, ok)
		}
		if i++; i == 10 {
			break
		}
	}
}

func TestStatsTellOfHoles(t *testing.T) {
	s, _ := New[int](Config{Purpose: "slab test"})
	var handles []Handle[int]
	for i := range 5 * chunkSlots {
		handles = append(handles, s.Insert(i))
	}
	for i, h := range handles {
		if i < 2*chunkSlots || i%4 != 0 {
			s.Remove(h)
		}
	}
	st := s.Stats()
	if st.Live != 3*chunkSlots/4 || st.Slots != 5*chunkSlots || st.Free != st.Slots-st.Live || st.Empty != 2+st.Chunks-5 || st.Retired != 0 {
		t.Errorf("stats %+v", st)
	}
	if got := OffHeapBytes()["slab test"]; got != int64(st.ChunkBytes) {
		t.Errorf("%d bytes mapped, stats say %d", got, st.ChunkBytes)
	}
	s.Release()
	if got := OffHeapBytes()["slab test"]; got != 0 {
		t.Errorf("%d bytes still mapped after Release", got)
	}
}

func TestMemoryIsReused(t *testing.T) {
	s, _ := New[node](Config{})
	defer s.Release()
	fill := func() {
		for i := range 10000 {
			s.Insert(node{key: uint32(i)})
		}
	}
	fill()
	want := s.Stats().ChunkBytes
	for range 5 {
		s.Clear()
		fill()
		if got := s.Stats().ChunkBytes; got != want {
			t.Fatalf("%d bytes after Clear and refill, want %d", got, want)
		}
	}
	if invariant.Enabled {
		return
	}
	var h Handle[node]
	if n := testing.AllocsPerRun(100, func() {
		h = s.Insert(node{})
		s.Get(h)
		s.Remove(h)
	}); n != 0 {
		t.Errorf("%v heap allocations per Insert, Get and Remove, want 0", n)
	}
	if n := testing.AllocsPerRun(3, func() { s.Clear(); fill() }); n != 0 {
		t.Errorf("%v heap allocations per round, want 0", n)
	}
}

func TestLimitAndMisuse(t *testing.T) {
	s, err := New[node](Config{LimitBytes: 100 << 10, Purpose: "slab test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reserve(100_000); !errors.Is(err, ErrLimit) {
		t.Errorf("Reserve beyond the limit: %v, want ErrLimit", err)
	}
	if err := s.Reserve(1000); err != nil {
		t.Errorf("Reserve within the limit: %v", err)
	}
	err = panicError(func() {
		for range 10000 {
			s.Insert(node{})
		}
	})
	if !errors.Is(err, ErrLimit) {
		t.Errorf("Insert past the limit: %v, want ErrLimit", err)
	}
	if got := s.Stats().ChunkBytes; got > 100<<10 {
		t.Errorf("%d bytes taken, more than the limit", got)
	}
	for h := range s.All() {
		s.Remove(h)
		break
	}
	live := s.Insert(node{})
	s.Release()
	if _, ok := s.Get(live); ok || s.Remove(live) {
		t.Error("an object was found after Release")
	}
	for name, f := range map[string]func(){
		"Insert": func() { s.Insert(node{}) }, "Clear": s.Clear, "Release": s.Release, "Reserve": func() { _ = s.Reserve(1) },
	} {
		if err := panicError(f); err == nil || !strings.Contains(err.Error(), "slab: "+name+": after Release") {
			t.Errorf("%s after Release: %v, want a panic", name, err)
		}
	}
	for _, n := range []int{-1, math.MaxInt32} {
		if err := panicError(func() { _ = s.Reserve(n) }); err == nil || !strings.Contains(err.Error(), "slab: Reserve:") {
			t.Errorf("Reserve(%d): %v, want a panic", n, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	type holder struct {
		_ [2]struct{ name string }
	}
	for name, make := range map[string]func(Config) error{
		"string":    func(c Config) error { _, err := New[string](c); return err },
		"pointer":   func(c Config) error { _, err := New[*int](c); return err },
		"interface": func(c Config) error { _, err := New[any](c); return err },
		"holder":    func(c Config) error { _, err := New[holder](c); return err },
		"func":      func(c Config) error { _, err := New[func()](c); return err },
		"map":       func(c Config) error { _, err := New[map[int]int](c); return err },
	} {
		if err := make(Config{}); err == nil || !strings.Contains(err.Error(), "holds pointers") {
			t.Errorf("mapped slab of %s: %v, want a refusal", name, err)
		}
		if err := make(Config{OnHeap: true}); err != nil {
			t.Errorf("slab of %s in the Go heap: %v", name, err)
		}
	}
	if _, err := NewConcurrent[string](Config{OnHeap: true}); err == nil || !strings.Contains(err.Error(), "holds pointers") {
		t.Errorf("concurrent slab of strings: %v, want a refusal", err)
	}
	if _, err := New[[maxObjectBytes + 1]byte](Config{}); err == nil {
		t.Error("slab of absurdly large objects: want a refusal")
	}
	if _, err := New[int](Config{LimitBytes: -1}); err == nil || !strings.Contains(err.Error(), "want") {
		t.Errorf("negative limit: %v, want an error", err)
	}
	if _, err := New[struct{}](Config{}); err != nil {
		t.Errorf("slab of empty structs: %v", err)
	}
}

func TestWriteAfterRemoveIsDetected(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("detected only under isobar_debug and in race builds")
	}
	for _, heap := range []bool{false, true} {
		s, _ := New[node](Config{OnHeap: heap})
		h := s.Insert(node{key: 1})
		n, _ := s.Get(h)
		s.Remove(h)
		if n.key == 1 {
			t.Error("the removed object is not poisoned")
		}
		n.key = 2
		if err := panicError(func() { s.Insert(node{}) }); err == nil || !strings.Contains(err.Error(), "written to after it was removed") || !strings.Contains(err.Error(), "slab_test.go:") {
			t.Errorf("%v, want a panic that names the write and where the object was removed", err)
		}
		s.Release()
	}
}

// panicError returns the value f panics with as an error, or nil if it does not
// panic.
func panicError(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = r
		default:
			err = fmt.Errorf("%v", r)
		}
	}()
	f()
	return nil
}
