package arena

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// configs are the kinds of memory that every Arena test covers.
var configs = map[string]Config{
	"mapped": {Purpose: "arena test"},
	"heap":   {OnHeap: true},
	"small":  {ChunkBytes: minChunkBytes, Purpose: "arena test"},
	"huge":   {HugePages: true, Purpose: "arena test"},
}

func eachConfig(t *testing.T, f func(t *testing.T, a *Arena)) {
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			a, err := Open(config)
			if err != nil {
				t.Fatal(err)
			}
			f(t, a)
			if !a.released {
				a.Release()
			}
			if n := OffHeapBytes()["arena test"]; n != 0 {
				t.Errorf("%d bytes still mapped after Release", n)
			}
		})
	}
}

type point struct {
	X, Y float64
	N    int32
	Tag  [3]byte
}

func TestAllocationsAreZeroAlignedAndApart(t *testing.T) {
	eachConfig(t, func(t *testing.T, a *Arena) {
		for range 3 {
			var points []*point
			var slices [][]uint16
			for i := range 3000 {
				p := New[point](a)
				if *p != (point{}) {
					t.Fatalf("New returned %+v, want zero", *p)
				}
				if uintptr(unsafe.Pointer(p))%8 != 0 {
					t.Fatalf("%p is not aligned", p)
				}
				p.X, p.N = float64(i), int32(i)
				s := MakeSlice[uint16](a, i%9)
				for j := range s {
					if s[j] != 0 {
						t.Fatal("MakeSlice returned nonzero values")
					}
					s[j] = uint16(i)
				}
				points, slices = append(points, p), append(slices, s)
			}
			for i, p := range points {
				if p.X != float64(i) || p.N != int32(i) {
					t.Fatalf("value %d was overwritten: %+v", i, *p)
				}
				for _, v := range slices[i] {
					if v != uint16(i) {
						t.Fatalf("slice %d was overwritten: %v", i, slices[i])
					}
				}
			}
			a.Reset()
		}
	})
}

func Test64BitAtomicsOn32BitPlatforms(t *testing.T) {
	eachConfig(t, func(t *testing.T, a *Arena) {
		type counter struct {
			n int64
			_ int32
		}
		for range 100 {
			MakeSlice[byte](a, 3)
			atomic.AddInt64(&New[counter](a).n, 1)
			New[atomic.Uint64](a).Add(1)
		}
	})
}

func TestOversizeIsServedAndNotKept(t *testing.T) {
	eachConfig(t, func(t *testing.T, a *Arena) {
		New[int](a)
		before := a.Stats()
		big := a.Bytes(maxChunkBytes + 1)
		big[len(big)-1] = 1
		small := a.Bytes(8)
		if a.Stats().ChunkBytes <= before.ChunkBytes+maxChunkBytes {
			t.Errorf("stats %+v do not count the large chunk", a.Stats())
		}
		small[0] = 1
		full := a.Stats().ChunkBytes
		a.Reset()
		if got := a.Stats(); got.ChunkBytes >= full-maxChunkBytes || got.UsedBytes != 0 {
			t.Errorf("stats after Reset: %+v, want the large chunk gone", got)
		}
	})
}

func TestResetReusesTheMemory(t *testing.T) {
	if instrumented() {
		t.Skip("checking builds do not reuse mapped chunks")
	}
	eachConfig(t, func(t *testing.T, a *Arena) {
		fill := func() {
			for range 10000 {
				New[point](a)
			}
		}
		fill()
		want := a.Stats()
		for range 10 {
			a.Reset()
			fill()
			if got := a.Stats(); got != want {
				t.Fatalf("stats %+v after reuse, want %+v", got, want)
			}
		}
		round := func() { a.Reset(); fill(); a.CopyString("tick") }
		if n := testing.AllocsPerRun(5, round); n != 0 {
			t.Errorf("%v heap allocations per round, want 0", n)
		}
	})
}

func TestStringsShareAndCopy(t *testing.T) {
	eachConfig(t, func(t *testing.T, a *Arena) {
		b := a.Bytes(5)
		copy(b, "hello")
		s := a.String(b)
		if s != "hello" || unsafe.StringData(s) != unsafe.SliceData(b) {
			t.Errorf("String = %q at %p, want the bytes at %p", s, unsafe.StringData(s), unsafe.SliceData(b))
		}
		original := strings.Clone("world")
		if s := a.CopyString(original); s != "world" || unsafe.StringData(s) == unsafe.StringData(original) {
			t.Errorf("CopyString = %q, want a copy", s)
		}
		if a.String(nil) != "" || a.CopyString("") != "" {
			t.Error("empty strings are not empty")
		}
	})
}

func TestAppendToGrowsLikeAppend(t *testing.T) {
	type odd struct{ b [5]byte }
	eachConfig(t, func(t *testing.T, a *Arena) {
		var got []odd
		var want []odd
		for i := range 5000 {
			v := odd{[5]byte{byte(i), byte(i >> 8)}}
			got, want = AppendTo(a, got, v, v), append(want, v, v)
			if i%100 == 0 {
				New[int64](a) // forces the slice to move
			}
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("element %d: %v, want %v", i, got[i], want[i])
			}
		}
		for _, v := range got[len(got):cap(got)] {
			if v != (odd{}) {
				t.Fatal("the unused capacity is not zero")
			}
		}
	})
}

func TestAppendToLeavesWhatLiesBehindAlone(t *testing.T) {
	eachConfig(t, func(t *testing.T, a *Arena) {
		whole := MakeSlice[byte](a, 8)
		for n := range 8 {
			for i := range whole {
				whole[i] = 0xaa
			}
			longer := AppendTo(a, whole[:n:n], 1, 2, 3)
			if !bytes.Equal(longer[n:], []byte{1, 2, 3}) {
				t.Fatalf("appended %v", longer)
			}
			if !bytes.Equal(whole, bytes.Repeat([]byte{0xaa}, 8)) {
				t.Fatalf("appending to the first %d overwrote the rest: %x", n, whole)
			}
			whole = MakeSlice[byte](a, 8)
		}
	})
}

func TestAppendToPartOfAnAllocationKeepsTheAlignment(t *testing.T) {
	eachConfig(t, func(t *testing.T, a *Arena) {
		for from := range 9 {
			b := AppendTo(a, MakeSlice[byte](a, 8)[from:], 1)
			if p := New[int64](a); uintptr(unsafe.Pointer(p))%8 != 0 || b[8-from] != 1 {
				t.Errorf("after appending to the last %d of 8 bytes the next value is at %p, the byte %d", 8-from, p, b[8-from])
			}
		}
	})
}

func TestLatestSliceGrowsInPlace(t *testing.T) {
	eachConfig(t, func(t *testing.T, a *Arena) {
		if err := a.Reserve(2000); err != nil {
			t.Fatal(err)
		}
		s := AppendTo[int64](a, nil, 1)
		first := &s[0]
		for range 100 {
			s = AppendTo(a, s, 2)
		}
		if &s[0] != first {
			t.Error("the latest allocation moved though there was room behind it")
		}
	})
}

func TestMarkAndRewind(t *testing.T) {
	eachConfig(t, func(t *testing.T, a *Arena) {
		empty := a.Mark()
		kept := MakeSlice[int](a, 100)
		for i := range kept {
			kept[i] = i
		}
		m := a.Mark()
		used := a.Stats().UsedBytes
		for range 5 {
			for range 20000 {
				New[point](a).N = 7
			}
			a.Rewind(m)
			if got := a.Stats().UsedBytes; got != used {
				t.Fatalf("%d bytes used after Rewind, want %d", got, used)
			}
		}
		for i := range kept {
			if kept[i] != i {
				t.Fatal("Rewind freed what was allocated before the mark")
			}
		}
		a.Rewind(empty)
		if got := a.Stats().UsedBytes; got != 0 {
			t.Errorf("%d bytes used, want none", got)
		}
	})
}

func TestLimit(t *testing.T) {
	for _, heap := range []bool{false, true} {
		a, err := Open(Config{ChunkBytes: 64 << 10, LimitBytes: 200 << 10, OnHeap: heap})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Reserve(1 << 20); !errors.Is(err, ErrLimit) {
			t.Errorf("Reserve beyond the limit: %v, want ErrLimit", err)
		}
		if err := a.Reserve(60 << 10); err != nil {
			t.Errorf("Reserve within the limit: %v", err)
		}
		err = panicError(t, func() {
			for range 10000 {
				New[point](a)
			}
		})
		if !errors.Is(err, ErrLimit) {
			t.Errorf("allocating past the limit: %v, want ErrLimit", err)
		}
		if got := a.Stats().ChunkBytes; got > 200<<10 {
			t.Errorf("%d bytes taken, more than the limit", got)
		}
		a.Reset()
		New[point](a)
		a.Release()
	}
}

// Whatever the limit is, the last chunk takes what is left of it.
func TestLimitCanBeUsed(t *testing.T) {
	const size, page = 1000, 4096
	type object struct {
		_ *int
		_ [size - unsafe.Sizeof(uintptr(0))]byte
	}
	for _, limit := range []int{64 << 10, 100_000, 1_000_000, 3 << 20, 60 << 20} {
		for _, heap := range []bool{false, true} {
			mem, err := Open(Config{LimitBytes: limit, OnHeap: heap})
			if err != nil {
				t.Fatal(err)
			}
			typed, err := OpenTyped[object](TypedConfig{LimitBytes: limit})
			if err != nil {
				t.Fatal(err)
			}
			for name, alloc := range map[string]func(){"Arena": func() { mem.Bytes(size) }, "Typed": func() { typed.New() }} {
				used := 0
				err := panicError(t, func() {
					for ; ; used += size {
						alloc()
					}
				})
				chunks := max(mem.Stats().Chunks, typed.Stats().Chunks)
				if !errors.Is(err, ErrLimit) || used > limit || used < limit-page-chunks*size {
					t.Errorf("%s: %d bytes of %d in %d chunks: %v", name, used, limit, chunks, err)
				}
			}
			mem.Release()
		}
	}
}

func TestConcurrentNearTheLimit(t *testing.T) {
	const limit = pieceBytes / 2
	c, err := OpenConcurrent(Config{ChunkBytes: minChunkBytes, LimitBytes: limit, OnHeap: true})
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	err = panicError(t, func() {
		for ; ; used += 8 {
			New[int64](c)
		}
	})
	if !errors.Is(err, ErrLimit) || used != limit {
		t.Errorf("%d bytes of %d: %v", used, limit, err)
	}
}

// Processors that GOMAXPROCS adds have no shard. They do not take a piece for each allocation.
func TestConcurrentOnMoreProcessors(t *testing.T) {
	c, err := OpenConcurrent(Config{OnHeap: true})
	if err != nil {
		t.Fatal(err)
	}
	procs := 8 * len(c.shards)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	const rounds = 1000
	var wg sync.WaitGroup
	for range 4 * procs {
		wg.Go(func() {
			for range rounds {
				New[int64](c)
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	if used, want := c.Stats().UsedBytes, 4*procs*rounds*8; used > 2*want+procs*pieceBytes {
		t.Errorf("%d bytes used for %d", used, want)
	}
}

func TestPointersAreRefused(t *testing.T) {
	a, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Release()
	type inner struct {
		_ [4]int
		_ *int
	}
	type outer struct{ _ [2]inner }
	for name, f := range map[string]func(){
		"New[*int]":                   func() { New[*int](a) },
		"New[string]":                 func() { New[string](a) },
		"New[any]":                    func() { New[any](a) },
		"New[error]":                  func() { New[error](a) },
		"New[func()]":                 func() { New[func()](a) },
		"New[map[int]int]":            func() { New[map[int]int](a) },
		"New[chan int]":               func() { New[chan int](a) },
		"New[[]byte]":                 func() { New[[]byte](a) },
		"New[unsafe.Pointer]":         func() { New[unsafe.Pointer](a) },
		"New[outer]":                  func() { New[outer](a) },
		"New[atomic.Pointer]":         func() { New[atomic.Pointer[int]](a) },
		"MakeSlice[[2]string]":        func() { MakeSlice[[2]string](a, 1) },
		"MakeSlice[string], empty":    func() { MakeSlice[string](a, 0) },
		"AppendTo[string]":            func() { AppendTo(a, nil, "x") },
		"AppendTo[struct{ *byte }]":   func() { AppendTo(a, nil, struct{ *byte }{}) },
		"AppendTo[outer], no growing": func() { AppendTo(a, make([]outer, 0, 4), outer{}) },
	} {
		if err := panicError(t, f); err == nil || !strings.Contains(err.Error(), "holds pointers") || !strings.Contains(err.Error(), "Typed[") {
			t.Errorf("%s: %v, want a refusal that names Typed", name, err)
		}
	}
	New[[0]*int](a)
	New[struct {
		_ [0]func()
		n int
	}](a)
}

func TestMisusePanics(t *testing.T) {
	for name, tc := range map[string]struct {
		f    func(a, other *Arena)
		want string
	}{
		"negative size":     {func(a, _ *Arena) { a.Bytes(-1) }, "arena: Bytes"},
		"absurd size":       {func(a, _ *Arena) { MakeSlice[point](a, math.MaxInt) }, "arena: MakeSlice"},
		"absurd reserve":    {func(a, _ *Arena) { _ = a.Reserve(math.MaxInt) }, "arena: Reserve"},
		"negative reserve":  {func(a, _ *Arena) { _ = a.Reserve(-1) }, "arena: Reserve"},
		"foreign mark":      {func(a, o *Arena) { a.Rewind(o.Mark()) }, "another arena"},
		"zero mark":         {func(a, _ *Arena) { a.Rewind(Mark{}) }, "another arena"},
		"stale mark":        {func(a, _ *Arena) { m := a.Mark(); a.Reset(); a.Rewind(m) }, "before a Reset"},
		"mark ahead":        {func(a, _ *Arena) { m := a.Mark(); New[int](a); n := a.Mark(); a.Rewind(m); a.Rewind(n) }, "after the current point"},
		"Release twice":     {func(a, _ *Arena) { a.Release(); a.Release() }, "arena: Release: after Release"},
		"New after Release": {func(a, _ *Arena) { New[int](a); a.Release(); New[int](a) }, "after Release"},
		"Reset, released":   {func(a, _ *Arena) { a.Release(); a.Reset() }, "arena: Reset: after Release"},
		"Reserve, released": {func(a, _ *Arena) { a.Release(); _ = a.Reserve(1) }, "after Release"},
		"Mark, released":    {func(a, _ *Arena) { a.Release(); a.Mark() }, "arena: Mark: after Release"},
		"Rewind, released":  {func(a, _ *Arena) { m := a.Mark(); a.Release(); a.Rewind(m) }, "arena: Rewind: after Release"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := Open(Config{})
			other, _ := Open(Config{})
			if err := panicError(t, func() { tc.f(a, other) }); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want a panic that says %q", err, tc.want)
			}
			if !a.released {
				a.Release()
			}
		})
	}
	if err := panicError(t, func() { New[int]((*Concurrent)(nil)) }); err == nil { // not while pinned
		t.Error("a nil Concurrent allocates")
	}
	for _, c := range []Config{{ChunkBytes: -1}, {ChunkBytes: 100}, {ChunkBytes: math.MaxInt}, {LimitBytes: -1}, {LimitBytes: 10}} {
		if _, err := Open(c); err == nil || !strings.HasPrefix(err.Error(), "arena: Open: ") || !strings.Contains(err.Error(), "want") {
			t.Errorf("Open(%+v): %v, want an error that says what is wanted", c, err)
		}
	}
}

func TestConcurrentAllocationsAreApart(t *testing.T) {
	c, err := OpenConcurrent(Config{Purpose: "arena test"})
	if err != nil {
		t.Fatal(err)
	}
	// It must also work with more processors than shards.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(len(c.shards) + 2))
	for range 5 {
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				var mine []*point
				var text []string
				for i := range 4000 {
					p := New[point](c)
					if *p != (point{}) {
						t.Errorf("New returned %+v, want zero", *p)
						return
					}
					p.N, p.X = int32(g), float64(i)
					mine = append(mine, p)
					text = append(text, c.CopyString(fmt.Sprint(g, i)))
					if i%100 == 0 {
						MakeSlice[int64](c, i) // larger than a piece
					}
					c.Bytes(i % 100)
				}
				for i, p := range mine {
					if p.N != int32(g) || p.X != float64(i) || text[i] != fmt.Sprint(g, i) {
						t.Errorf("value %d of goroutine %d was overwritten: %+v %q", i, g, *p, text[i])
						return
					}
				}
			})
		}
		wg.Wait()
		c.Reset()
	}
	c.Release()
	if err := panicError(t, func() { New[int](c) }); err == nil || !strings.Contains(err.Error(), "after Release") {
		t.Errorf("New after Release: %v, want a panic", err)
	}
	if n := OffHeapBytes()["arena test"]; n != 0 {
		t.Errorf("%d bytes still mapped after Release", n)
	}
}

// FuzzArena takes each byte as an operation on an arena and on a model: live
// allocations must hold what was written to them. It checks all of them after
// each operation, so it stops at 500 operations to stay fast.
func FuzzArena(f *testing.F) {
	f.Add([]byte{1, 200, 250, 3, 251, 7, 252, 9, 253, 100}, true)
	f.Add(bytes.Repeat([]byte{240, 250, 199, 251, 100}, 50), false)
	f.Fuzz(func(t *testing.T, ops []byte, heap bool) {
		ops = ops[:min(len(ops), 500)]
		a, err := Open(Config{ChunkBytes: minChunkBytes, OnHeap: heap, LimitBytes: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Release()
		var live [][]byte
		var marks []Mark
		var lens []int
		for i, op := range ops {
			before := len(live)
			switch {
			case op == 250:
				marks, lens = append(marks, a.Mark()), append(lens, len(live))
			case op == 251 && len(marks) > 0:
				last := len(marks) - 1
				a.Rewind(marks[last])
				live, marks, lens = live[:lens[last]], marks[:last], lens[:last]
			case op == 252:
				a.Reset()
				live, marks, lens = nil, nil, nil
			case op == 253 && len(live) > 0 && len(marks) == 0:
				s := live[len(live)-1]
				live[len(live)-1] = AppendTo(a, s, bytes.Repeat([]byte{byte(len(live))}, 3)...)
			case op >= 251 && op <= 253: // no allocation to work on
			case op >= 240:
				live = append(live, a.Bytes(int(op)*37))
			default:
				live = append(live, a.Bytes(int(op)))
			}
			if len(live) > before {
				for j, s := 0, live[len(live)-1]; j < len(s); j++ {
					if s[j] != 0 {
						t.Fatalf("operation %d: memory is not zero", i)
					}
					s[j] = byte(len(live))
				}
			}
			for j, s := range live {
				if bytes.Count(s, []byte{byte(j + 1)}) != len(s) {
					t.Fatalf("operation %d: allocation %d was overwritten", i, j)
				}
			}
		}
	})
}

var sinkAddr uintptr

// instrumented reports builds in which allocation counts mean nothing: those
// with the checks compiled in, or with -d=checkptr, which moves whatever an
// unsafe pointer is made from to the heap.
func instrumented() bool {
	return invariant.Enabled || testing.AllocsPerRun(1, func() {
		var x int
		sinkAddr = uintptr(unsafe.Pointer(&x))
	}) > 0
}

// panicError returns the value f panics with as an error, or nil if it does not
// panic.
func panicError(t *testing.T, f func()) (err error) {
	t.Helper()
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
