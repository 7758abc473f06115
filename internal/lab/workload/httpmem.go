package workload

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/isobar-go/isobar/http11"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// memoryModes returns the names of http11's memory modes, and of those that work off the heap.
func memoryModes() (all, offHeap []string) {
	for _, mode := range http11.MemoryModes() {
		all = append(all, mode.String())
		if mode.Info().OffHeap {
			offHeap = append(offHeap, mode.String())
		}
	}
	return all, offHeap
}

func init() {
	modes, offHeap := memoryModes()
	Register(&Workload{
		Name:    "httpmem",
		Summary: "build and read an HTTP request in each kind of request memory",
		Params: WithBudget("0", "5s",
			Choice("mode", http11.Pooled.String(), "heap (a string and a slice for each part), "+strings.Join(modes, ", ")+
				", or goarena (Go's arenas; needs a binary built with GOEXPERIMENT=arenas)",
				append([]string{"heap", "goarena"}, modes...)...),
			Switch("offheap", "off", "on: "+strings.Join(offHeap, " and ")+" off the Go heap"),
			Choice("shape", "typical", "typical (8 headers, 512 B body), headers (32 headers), large (64 KB body) or line (no "+
				"headers, no body)", "typical", "headers", "large", "line"),
			Int("held", "1", "requests that a worker holds at once", 1, 1_000_000),
			Int("workers", "1", "goroutines; 0: GOMAXPROCS", 0, 1024),
		),
		New: newHTTPMem,
	})
}

// httpMem is seed document 001. Its thirteen benchmarks form these sets: a
// typical request, a large one, one with many headers; collector pressure,
// allocation rate and parallel throughput of small ones; 100 in a row; 1,000
// active. Here every memory does the same work: it copies method, path, header
// names, values and body of an existing request into its own memory, like a
// server that reads it, and looks at each part. (The document's pool modes use
// no pool and copy nothing, its slab mode copies.) The sets are shape=typical,
// large and headers; shape=line, with workers=0 for throughput; held=100;
// held=1000. Collections are in every record.
type httpMem struct {
	Budgeted
	shape     *HTTPShape
	partBytes int              // of the shape
	requests  *http11.Requests // nil for heap and goarena
	goArena   bool
	keep      bool // a slot keeps its memory, like a connection in that mode
	held      int  // slots of a worker
	workers   []*httpWorker
}

// An httpWorker belongs to the goroutine that calls Loop with its number.
type httpWorker struct {
	heap    []heapRequest
	regions []regionRequest
	at      int
	_       [64]byte // keeps workers off each other's cache lines
}

type heapRequest struct {
	parts []string
	body  []byte
	arena goArena // owns the two above with mode=goarena
}

// A regionRequest has its parts one after another in head, the memory of req.
type regionRequest struct {
	req        http11.Request
	live       bool
	ends       []uint32 // of the parts
	head, body []byte
}

func newHTTPMem(env Env) (Task, error) {
	p := env.Params
	t := &httpMem{Budgeted: env.Budget, shape: NewHTTPShape(p.String("shape"), env.Seed), held: p.Int("held")}
	for _, part := range t.shape.Parts {
		t.partBytes += len(part)
	}
	switch name := p.String("mode"); name {
	case "heap", "goarena":
		if p.Bool("offheap") {
			_, others := memoryModes()
			return nil, fmt.Errorf("offheap=on with mode=%s, which uses the Go heap; choose %s",
				name, strings.Join(others, " or "))
		}
		t.goArena = name == "goarena"
		if t.goArena && !haveGoArena {
			return nil, errors.New("mode=goarena: this program was built without Go's arenas; " +
				"build it with GOEXPERIMENT=arenas")
		}
	default:
		mode, err := http11.ParseMemoryMode(name)
		if err == nil {
			t.requests, err = http11.NewRequests(http11.Memory{Mode: mode, OffHeap: p.Bool("offheap")})
		}
		if err != nil {
			return nil, err
		}
		t.keep = mode.Info().Keeps
	}
	for range cmp.Or(p.Int("workers"), runtime.GOMAXPROCS(0)) {
		w := new(httpWorker)
		if t.requests == nil {
			w.heap = make([]heapRequest, t.held)
		} else {
			w.regions = make([]regionRequest, t.held)
			for i := range w.regions {
				w.regions[i].ends = make([]uint32, 0, len(t.shape.Parts))
			}
		}
		t.workers = append(t.workers, w)
	}
	return t, nil
}

// An HTTPShape is a request to build.
type HTTPShape struct {
	Parts []string // method, path, then names and values of headers
	Body  []byte
}

// NewHTTPShape returns the request that --shape names. One number in it depends on the seed.
func NewHTTPShape(name string, seed uint64) *HTTPShape {
	s := &HTTPShape{Parts: []string{"POST", fmt.Sprintf("/api/v1/orders?id=%020d", seed)}}
	headers := []string{
		"Host", "api.example.com", "User-Agent", "Mozilla/5.0 (X11; Linux x86_64)", "Accept", "application/json",
		"Accept-Encoding", "gzip, deflate, br", "Content-Type", "application/json", "Content-Length", "512",
		"Authorization", "Bearer 0123456789abcdef", "X-Request-Id", "4bf92f3577b34da6",
	}
	switch name {
	case "typical":
		s.Parts, s.Body = append(s.Parts, headers...), bytes.Repeat([]byte("x"), 512)
	case "large":
		s.Parts, s.Body = append(s.Parts, headers...), bytes.Repeat([]byte("x"), 64<<10)
	case "headers":
		for i := range 32 {
			s.Parts = append(s.Parts, fmt.Sprintf("X-Custom-Header-%02d", i), fmt.Sprintf("value number %02d", i))
		}
	}
	return s
}

func (t *httpMem) Workers() int { return len(t.workers) }

func (t *httpMem) Loop(worker int, n int64) (sum uint64) {
	w := t.workers[worker]
	for range n {
		if t.requests == nil {
			r := &w.heap[w.at]
			if t.goArena {
				t.shape.inGoArena(r)
			} else {
				t.shape.onHeap(r)
			}
			sum += r.read()
		} else {
			r := &w.regions[w.at]
			t.inRegion(r)
			sum += r.read()
		}
		if w.at++; w.at == t.held {
			w.at = 0
		}
	}
	return sum
}

func (s *HTTPShape) onHeap(r *heapRequest) {
	r.parts = make([]string, 0, len(s.Parts))
	for _, part := range s.Parts {
		r.parts = append(r.parts, strings.Clone(part))
	}
	r.body = bytes.Clone(s.Body)
}

// Touch reads a part of a request: its length and its ends.
func Touch[T string | []byte](part T) uint64 {
	n := len(part)
	if n == 0 {
		return 0
	}
	return uint64(n) + uint64(part[0]) + uint64(part[n-1])
}

func (r *heapRequest) read() (sum uint64) {
	for _, part := range r.parts {
		sum += Touch(part)
	}
	return sum + Touch(r.body)
}

// inRegion ends r's request and builds the next.
func (t *httpMem) inRegion(r *regionRequest) {
	switch {
	case !r.live:
		r.req, r.live = t.requests.Begin(), true
	case t.keep:
		r.req = t.requests.Next(r.req)
	default:
		t.requests.End(r.req)
		r.req = t.requests.Begin()
	}
	r.head = r.req.UnsafeAlloc(t.partBytes)
	r.ends = r.ends[:0]
	at := 0
	for _, part := range t.shape.Parts {
		at += copy(r.head[at:], part)
		r.ends = append(r.ends, uint32(at))
	}
	r.body = r.req.UnsafeAlloc(len(t.shape.Body))
	copy(r.body, t.shape.Body)
}

func (r *regionRequest) read() (sum uint64) {
	from := uint32(0)
	for _, end := range r.ends {
		sum += Touch(r.head[from:end])
		from = end
	}
	return sum + Touch(r.body)
}

// Report adds the figures of the request memory while the last requests are
// still held.
func (t *httpMem) Report(rec *cell.Record) {
	if t.requests == nil {
		return
	}
	s := t.requests.Stats()
	rec.Set("/httpmem/held:bytes", float64(s.HeldBytes))
	rec.Set("/httpmem/used:bytes", float64(s.InUseBytes))
	rec.Set("/httpmem/utilization:ratio", s.Utilization())
	rec.Set("/httpmem/hits:ratio", s.HitRate())
	rec.Set("/httpmem/chunks-made:chunks", float64(s.ChunksMade))
	rec.Set("/httpmem/chunks-freed:chunks", float64(s.ChunksFreed))
}

func (t *httpMem) Close() error {
	for _, w := range t.workers {
		for i := range w.heap {
			w.heap[i].arena.free()
		}
		for i := range w.regions {
			if r := &w.regions[i]; r.live {
				t.requests.End(r.req)
				*r = regionRequest{}
			}
		}
	}
	if t.requests == nil {
		return nil
	}
	t.requests.Close()
	if s := t.requests.Stats(); s.Requests != 0 || s.InUse != 0 {
		return fmt.Errorf("%d requests and %d blocks are in use after Close; this is a bug", s.Requests, s.InUse)
	}
	return nil
}
