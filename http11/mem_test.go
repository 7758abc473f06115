package http11

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/memtest"
)

// typical is a typical browser request.
var typical = "POST /api/v1/orders?verbose=1 HTTP/1.1\r\nHost: api.example.com\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n" +
	"Accept: application/json\r\nAccept-Encoding: gzip, deflate, br\r\n" +
	"Content-Type: application/json\r\nContent-Length: 512\r\n" +
	"Authorization: Bearer 0123456789abcdef\r\nX-Request-Id: 4bf92f3577b34da6\r\n\r\n" + strings.Repeat("x", 512)

// begin reads and parses a request as a connection does.
func begin(t testing.TB, m *memory, text string) Request {
	r := m.acquire()
	in := append(r.room(nil, len(text)), text...)
	in = r.trim(in)
	lim := limits{}.withDefaults()
	n, err := parseHead(&r.head, in, &lim)
	if n == 0 || err != nil {
		t.Fatal(n, err)
	}
	r.base[baseHead], r.base[baseBody] = in[:n:n], in[n:]
	return Request{r, r.open()}
}

func TestMemoryRefusesContradictions(t *testing.T) {
	for _, c := range []Memory{
		{Mode: 255}, {BlockBytes: 100}, {BlockBytes: 5000}, {BlockBytes: 1 << 20}, {BlockBytes: -1}, {ChunkBytes: 1 << 10},
		{ChunkBytes: 1 << 21}, {ChunkBytes: 70 << 10}, {BlockBytes: 512, ChunkBytes: 64 << 10},
		{LimitBytes: -1}, {IdleBytes: -1}, {OffHeap: true},
	} {
		if _, err := newMemory(c); err == nil || !strings.HasPrefix(err.Error(), "http11: Memory: ") {
			t.Errorf("%+v: error %v, want one that begins with http11: Memory", c, err)
		}
	}
}

func TestStaleViewsPanic(t *testing.T) {
	everyMode(t, func(t *testing.T, m *memory) {
		q := begin(t, m, typical)
		view := q.Header("content-type")
		if !view.Equal("application/json") || !view.EqualFold("APPLICATION/json") || view.Len() != 16 ||
			string(view.Clone()) != view.String() || string(view.AppendTo([]byte("a"))) != "aapplication/json" ||
			!q.Header("X-Request-ID").Equal("4bf92f3577b34da6") || q.Header("x-none").Len() != 0 {
			t.Errorf("views differ from the request: %q", view)
		}
		rest := q.r.carry(q.r.base[baseBody][:3])
		if string(rest) != "xxx" {
			t.Errorf("carried %q, want xxx", rest)
		}
		uses := map[string]func(){
			"String": func() { _ = view.String() }, "Clone": func() { view.Clone() }, "Len": func() { view.Len() },
			"AppendTo": func() { view.AppendTo(nil) }, "Equal": func() { view.Equal("") },
			"EqualFold":   func() { view.EqualFold("") },
			"UnsafeBytes": func() { view.UnsafeBytes() },
		}
		for name, use := range uses {
			want := []string{"http11: View." + name + ": the request has ended; copy with String"}
			if invariant.Enabled {
				want = append(want, "acquired by\n", "ended by\n", "TestStaleViewsPanic")
			}
			mustPanic(t, use, want...)
		}
		q.r.drop()
		mustPanic(t, uses["String"], "the request has ended")
	})
}

func mustPanic(t *testing.T, f func(), want ...string) {
	t.Helper()
	defer func() {
		t.Helper()
		got := fmt.Sprint(recover())
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("panic %q, want one with %q", got, w)
			}
		}
	}()
	f()
}

func TestRetainedRequestsOutlastTheConnection(t *testing.T) {
	everyMode(t, func(t *testing.T, m *memory) {
		q := begin(t, m, typical)
		extra := q.UnsafeAlloc(100)
		copy(extra, "allocated")
		kept := q.Retain()
		path := q.Path()
		r, rest := q.r.detach(q.r.base[baseBody][500:])
		if r == q.r || len(rest) != 12 {
			t.Fatalf("the connection goes on with the retained region, or %d bytes, want 12", len(rest))
		}
		next := begin(t, m, typical)
		if !path.Equal("/api/v1/orders") || !kept.Request().Header("Host").Equal("api.example.com") ||
			string(extra[:9]) != "allocated" {
			t.Error("a retained request changed")
		}
		kept.Release()
		mustPanic(t, func() { _ = path.String() }, "the request has ended")
		mustPanic(t, kept.Release, "Retained.Release: the request was released before")
		mustPanic(t, func() { kept.Request() }, "Retained.Request: the request was released")
		next.r.drop()
		r.drop()
	})
}

func TestReleaseBeforeTheHandlerReturns(t *testing.T) {
	m := newTestMemory(t)
	q := begin(t, m, typical)
	q.Retain().Release()
	r, _ := q.r.detach(nil)
	if r != q.r {
		t.Error("a region that nobody retains was given away")
	}
	r.drop()
}

// TestActiveRequestsFit counts the memory of 1,000 typical concurrent requests:
// blocks, chunks and regions.
func TestActiveRequestsFit(t *testing.T) {
	if invariant.Enabled {
		t.Skip("blocks in quarantine are held as well")
	}
	everyMode(t, func(t *testing.T, m *memory) {
		if m.config.LimitBytes > 0 {
			t.Skip("mostly not in chunks")
		}
		var requests []Request
		structs := 0
		for range 1000 {
			q := begin(t, m, typical)
			copy(q.UnsafeAlloc(1024), "a response")
			requests = append(requests, q)
			structs += int(unsafe.Sizeof(*q.r)) + cap(q.r.head.fields)*int(unsafe.Sizeof(field{}))
		}
		s := m.stats()
		t.Logf("%d bytes held, %d in regions, utilization %.2f", s.HeldBytes, structs, s.Utilization())
		if total := s.HeldBytes + int64(structs); total > 5e6 || s.InUse != 1000 || s.Requests != 1000 ||
			s.InUseBytes > s.HeldBytes {
			t.Errorf("%d bytes for 1,000 requests, want at most 5 MB; %+v", total, s)
		}
		for _, q := range requests {
			q.r.drop()
		}
	})
}

func TestWarmLeavesNoMisses(t *testing.T) {
	if invariant.Enabled {
		t.Skip("blocks in quarantine are not at hand")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // another P would not find what this one has taken from the depot
	everyMode(t, func(t *testing.T, m *memory) {
		if m.config.LimitBytes > 0 {
			t.Skip("the limit is below what is warmed")
		}
		m.warm(100)
		var requests []Request
		for range 100 {
			requests = append(requests, begin(t, m, typical))
		}
		if s := m.stats(); s.Hits != 100 || s.Misses != 0 {
			t.Errorf("%+v, want 100 hits", s)
		}
		for _, q := range requests {
			q.r.drop()
		}
	})
}

func TestChunksAreBounded(t *testing.T) {
	if invariant.Enabled {
		t.Skip("blocks in quarantine hold chunks")
	}
	for _, mode := range []MemoryMode{Slab, Arena} {
		for _, offheap := range []bool{false, true} {
			m, err := newMemory(Memory{Mode: mode, OffHeap: offheap, LimitBytes: 4 * defaultChunkBytes,
				IdleBytes: 2 * defaultChunkBytes})
			if err != nil {
				t.Fatal(err)
			}
			var requests []Request
			for range 100 {
				requests = append(requests, begin(t, m, typical))
			}
			spare := uint64(0) // each other P may have a partly used chunk
			if mode == Arena {
				spare = uint64(runtime.GOMAXPROCS(0) - 1)
			}
			if s := m.stats(); s.ChunksMade != 4 || s.Pooled < 36 || s.Pooled > 36+15*spare ||
				s.InUse != 100 || s.InUseBytes != 100*defaultBlockBytes {
				t.Errorf("%v: %+v, want 4 chunks of 16 blocks and the other blocks pooled", mode, s)
			}
			for _, q := range requests {
				q.r.drop()
			}
			if s := m.stats(); s.ChunksMade-s.ChunksFreed > 3+spare || s.InUse != 0 {
				t.Errorf("%v: %+v, want at most two idle chunks and the current ones", mode, s)
			}
			m.close()
			if s := m.stats(); s.ChunksMade != s.ChunksFreed {
				t.Errorf("%v: %d chunks made and %d freed after close", mode, s.ChunksMade, s.ChunksFreed)
			}
		}
	}
}

// Memory unused between two trims is released, and nothing else.
func TestTrim(t *testing.T) {
	if invariant.Enabled {
		t.Skip("blocks in quarantine hold chunks")
	}
	for _, mode := range []MemoryMode{Slab, Arena} {
		m, err := newMemory(Memory{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		use := func(n int) {
			var requests []Request
			for range n {
				requests = append(requests, begin(t, m, typical))
			}
			for _, q := range requests {
				q.r.drop()
			}
		}
		held := func() uint64 { s := m.stats(); return s.ChunksMade - s.ChunksFreed }
		use(320)
		m.source.trim() // they were in use since the last one
		if n := held(); n < 20 {
			t.Errorf("%v: %d chunks after the first trim, want all 20", mode, n)
		}
		use(100)
		m.source.trim()
		if n, want := held(), uint64(8+runtime.GOMAXPROCS(0)); n > want || n < 7 {
			t.Errorf("%v: %d chunks, want those that 100 requests take, 7 to %d", mode, n, want)
		}
		m.source.trim()
		if n := held(); n > uint64(1+runtime.GOMAXPROCS(0)) {
			t.Errorf("%v: %d chunks, want the current ones", mode, n)
		}
		m.warm(64)
		m.source.trim()
		m.source.trim()
		if n := held(); n < 4 {
			t.Errorf("%v: %d chunks, want the 4 that Warm has made", mode, n)
		}
		m.close()
	}
}

func TestWritesAfterTheEndAreFound(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("found in checking builds only")
	}
	for _, mode := range MemoryModes() {
		m, err := newMemory(Memory{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		q := begin(t, m, typical)
		b := q.UnsafeAlloc(100)
		q.r.drop()
		if b[0] != poison {
			t.Errorf("%v: memory of an ended request holds %#x, want poison", mode, b[0])
		}
		b[7] = 1
		mustPanic(t, m.close, "http11: request memory was written to after its request had ended")
	}
}

// TestNoMemoryIsSharedByTwo has goroutines fill their allocations and checks
// that nobody else changes them.
func TestNoMemoryIsSharedByTwo(t *testing.T) {
	rounds := 2000
	if invariant.Enabled { // every block is poisoned and checked
		rounds = 300
	}
	everyMode(t, func(t *testing.T, m *memory) {
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 1))
				var held []*region
				var parts [][]byte
				for i := range rounds {
					r := m.acquire()
					tag := byte(g*50 + i%50)
					for range rng.IntN(4) + 1 {
						size := rng.IntN(1 << (4 + rng.IntN(14)))
						b := r.alloc(size)
						for j := range b {
							b[j] = tag
						}
						r.base[baseBody] = b
					}
					if b := r.base[baseBody]; len(b) > 0 && rng.IntN(3) == 0 {
						if rest := r.carry(b); !bytes.Equal(rest, bytes.Repeat([]byte{tag}, len(rest))) {
							t.Error("what was carried changed")
						} else {
							r.base[baseBody] = rest
						}
					}
					held, parts = append(held, r), append(parts, r.base[baseBody])
					if k := rng.IntN(len(held)); len(held) > 8 {
						if b := parts[k]; len(b) > 0 && (b[0] != b[len(b)-1] || bytes.Count(b, b[:1]) != len(b)) {
							t.Error("memory of a request was changed by another")
						}
						held[k].drop()
						held[k], parts[k] = held[len(held)-1], parts[len(parts)-1]
						held, parts = held[:len(held)-1], parts[:len(parts)-1]
					}
				}
				for _, r := range held {
					r.drop()
				}
			})
		}
		wg.Wait()
	})
}

func TestRequestsAllocateNothing(t *testing.T) {
	if invariant.Enabled {
		t.Skip("checking builds record where regions are acquired")
	}
	many := get + strings.Repeat("X-Custom-Header: value\r\n", 63) + end
	everyMode(t, func(t *testing.T, m *memory) {
		if m.config.LimitBytes > 0 {
			t.Skip("blocks beyond the limit are made")
		}
		for _, text := range []string{typical, many} {
			memtest.Allocs(t, 0, func() {
				q := begin(t, m, text)
				q.UnsafeAlloc(5000)
				q.Header("x-custom-header")
				q.r.carry(nil)
				q.r.drop()
			})
		}
	})
}

func TestKnownNamesAreFound(t *testing.T) {
	for id := idHost; id < idMax; id++ {
		name := knownNames[id]
		for _, spelled := range []string{name, strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:]} {
			if nameID([]byte(spelled)) != id || knownID(spelled) != id {
				t.Errorf("%s has numbers %d and %d, want %d", spelled, nameID([]byte(spelled)), knownID(spelled), id)
			}
		}
		for i := range len(name) { // one byte changed to any other
			for c := range 256 {
				if b := []byte(name); lowerOf[c] != b[i] && classOf[c]&isToken != 0 {
					b[i] = byte(c)
					if got := nameID(b); got == id || got != knownID(string(b)) {
						t.Fatalf("%s has number %d", b, got)
					}
				}
			}
		}
	}
}

// TestAccessAfterTheEndFaults is for off-heap memory, which checking builds
// unmap block by block.
func TestAccessAfterTheEndFaults(t *testing.T) {
	if !invariant.Enabled || invariant.Race {
		t.Skip("memory is unmapped under isobar_debug only")
	}
	for _, config := range modes() {
		if !config.OffHeap {
			continue
		}
		m, err := newMemory(config)
		if err != nil {
			t.Fatal(err)
		}
		q := begin(t, m, typical)
		b := q.UnsafeAlloc(100)
		b[7] = 1
		q.r.drop()
		func() {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			mustPanic(t, func() { b[7]++ }, "invalid memory address")
		}()
		m.close()
	}
}

// TestMemoryThatWentBackIsReadable checks what the epoch check of a late reader
// relies on: it can read memory returned to the operating system, whatever it
// holds, without a fault.
func TestMemoryThatWentBackIsReadable(t *testing.T) {
	if invariant.Enabled && !invariant.Race {
		t.Skip("memory is unmapped under isobar_debug, block by block")
	}
	for _, config := range modes() {
		if !config.OffHeap {
			continue
		}
		m, err := newMemory(config)
		if err != nil {
			t.Fatal(err)
		}
		q := begin(t, m, typical)
		b := q.UnsafeAlloc(100)
		q.r.drop()
		m.close()
		if s := m.stats(); s.ChunksMade == 0 || s.ChunksMade != s.ChunksFreed {
			t.Errorf("%v: %d chunks made and %d freed", config.Mode, s.ChunksMade, s.ChunksFreed)
		}
		func() {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%v: %v", config.Mode, r)
				}
			}()
			into := make([]byte, len(b))
			copy(into, b)
		}()
	}
}
