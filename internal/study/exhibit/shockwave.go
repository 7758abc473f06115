package exhibit

import (
	"cmp"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// shockwaveOurs maps the modes shared with httpmem to their names there.
var shockwaveOurs = map[string]string{"heap": "heap", "pooled": "pooled", "connection": "slab", "goarena": "goarena"}

func init() {
	register(&workload.Workload{
		Name:    "shockwave",
		Summary: "the request memories of seed document 001's benchmarks, and others that do the same work",
		Params: workload.WithBudget("0", "2s",
			workload.Choice("mode", "pooled", "alias (the document's standard pool benchmark: no pool, nothing copied), slab "+
				"(its slab of 256 KB for each request), or of httpmem: heap, pooled, connection (a slab for each connection), "+
				"goarena", "alias", "slab", "heap", "pooled", "connection", "goarena"),
			workload.Choice("shape", "typical", "typical (8 headers, 512 B body), headers (32 headers), large (64 KB body) or "+
				"line (no headers, no body)", "typical", "headers", "large", "line"),
			workload.Int("held", "1", "requests that a worker holds at a time", 1, 1_000_000),
			workload.Int("workers", "1", "goroutines; 0: GOMAXPROCS", 0, 1024),
		),
		New: newShockwave,
	})
}

// shockwave contrasts what seed document 001 measured with what it says it measured. Its "standard
// pool" benchmarks (mode alias) take nothing from a pool and copy no request: they assign existing
// strings and make a body without filling it; with many headers they build each string with +. Its
// slab (mode slab) takes a slab of 256 KB from a sync.Pool for each request, copies each part into it
// and puts it back. The other modes are those of httpmem; like the slab they copy and read each part.
type shockwave struct {
	workload.Closed
	baseHeap, baseSys, baseObjects uint64
}

func newShockwave(env workload.Env) (workload.Task, error) {
	m := collected()
	t := &shockwave{baseHeap: m.HeapAlloc, baseSys: m.Sys, baseObjects: m.HeapObjects}
	mode := env.Params.String("mode")
	if ours := shockwaveOurs[mode]; ours != "" {
		env.Params = maps.Clone(env.Params)
		env.Params["mode"], env.Params["offheap"] = ours, "off"
		httpmem, err := workload.Lookup("httpmem")
		if err != nil {
			return nil, err
		}
		task, err := httpmem.New(env)
		if err != nil {
			return nil, err
		}
		t.Closed = task.(workload.Closed)
		return t, nil
	}
	n := cmp.Or(env.Params.Int("workers"), runtime.GOMAXPROCS(0))
	shape := workload.NewHTTPShape(env.Params.String("shape"), env.Seed)
	if mode == "alias" {
		t.Closed = &aliasRequests{Budgeted: env.Budget, shape: shape, workers: n,
			build: aliases[env.Params.String("shape")]}
		return t, nil
	}
	s := &slabRequests{Budgeted: env.Budget, shape: shape, held: make([][]*slabRequest, n)}
	s.pool.New = func() any { return newSlabRequest() }
	for i := range s.held {
		s.held[i] = make([]*slabRequest, 0, env.Params.Int("held"))
	}
	s.at = make([]int, n)
	t.Closed = s
	return t, nil
}

// Report adds the cost of held requests: live heap bytes and objects after a collection,
// and bytes that the Go runtime obtained from the system.
func (t *shockwave) Report(rec *cell.Record) {
	if r, ok := t.Closed.(workload.Reporter); ok {
		r.Report(rec)
	}
	m := collected()
	rec.Set("/shockwave/held:bytes", float64(max(m.HeapAlloc, t.baseHeap)-t.baseHeap))
	rec.Set("/shockwave/held:objects", float64(max(m.HeapObjects, t.baseObjects)-t.baseObjects))
	rec.Set("/shockwave/mapped:bytes", float64(max(m.Sys, t.baseSys)-t.baseSys))
}

// aliasRequests is mode alias.
type aliasRequests struct {
	workload.Budgeted
	shape   *workload.HTTPShape
	build   func(*workload.HTTPShape) uint64
	workers int
}

// aliases has the document's code for each shape.
var aliases = map[string]func(*workload.HTTPShape) uint64{
	"typical": aliasTypical, "headers": aliasHeaders, "large": aliasLarge, "line": aliasLine,
}

func (t *aliasRequests) Workers() int { return t.workers }
func (t *aliasRequests) Loop(_ int, n int64) (sum uint64) {
	for range n {
		sum += t.build(t.shape)
	}
	return sum
}

// An aliasRequest stays on the stack.
type aliasRequest struct {
	method, path string
	names        []string
	values       []string
	body         []byte
}

//go:noinline
func aliasLine(s *workload.HTTPShape) uint64 {
	r := aliasRequest{method: s.Parts[0], path: s.Parts[1]}
	r.fill(s)
	return r.size()
}

//go:noinline
func aliasTypical(s *workload.HTTPShape) uint64 {
	r := aliasRequest{method: s.Parts[0], path: s.Parts[1]}
	r.names, r.values = make([]string, 0, 8), make([]string, 0, 8)
	r.fill(s)
	r.body = make([]byte, 512)
	return r.size()
}

//go:noinline
func aliasHeaders(s *workload.HTTPShape) uint64 {
	var r aliasRequest
	r.names, r.values = make([]string, 0, 32), make([]string, 0, 32)
	for i := range 32 {
		r.names, r.values = append(r.names, s.Parts[2]+string(rune('A'+i))), append(r.values, s.Parts[3]+string(rune('A'+i)))
	}
	return r.size()
}

//go:noinline
func aliasLarge(s *workload.HTTPShape) uint64 {
	r := aliasRequest{method: s.Parts[0], path: s.Parts[1]}
	r.body = make([]byte, 64<<10)
	return r.size()
}

func (r *aliasRequest) fill(s *workload.HTTPShape) {
	for i := 2; i+1 < len(s.Parts) && len(r.names) < cap(r.names); i += 2 {
		r.names, r.values = append(r.names, s.Parts[i]), append(r.values, s.Parts[i+1])
	}
}

func (r *aliasRequest) size() uint64 {
	return uint64(len(r.method) + len(r.path) + len(r.names) + len(r.values) + len(r.body))
}

// slabRequests is mode slab.
type slabRequests struct {
	workload.Budgeted
	shape *workload.HTTPShape
	pool  sync.Pool // of *slabRequest
	stats struct{ taken, returned, hits, misses atomic.Uint64 }
	inUse atomic.Int64     // counts requests; publishes nothing, like the counts in stats
	held  [][]*slabRequest // by worker, which owns its own
	at    []int            // likewise: which one to replace next
}

const slabRequestBytes = 256 << 10

// A slabRequest allocates by bumping through a pooled slab, like the
// document's: no two requests share a slab.
type slabRequest struct {
	slab          []byte
	used          int
	slabs         *sync.Pool
	taken, copied atomic.Uint64 // statistics; they publish nothing
	parts         [][]byte
	body          []byte
}

func newSlabRequest() *slabRequest {
	return &slabRequest{slabs: &sync.Pool{New: func() any {
		b := make([]byte, slabRequestBytes)
		return &b
	}}}
}

func (r *slabRequest) bytes(n int) []byte {
	if n > slabRequestBytes/2 {
		r.copied.Add(uint64(n))
		return make([]byte, n)
	}
	if r.slab == nil || r.used+n > len(r.slab) {
		r.slab, r.used = *r.slabs.Get().(*[]byte), 0
		r.taken.Add(1)
	}
	b := r.slab[r.used : r.used+n]
	r.used += n
	r.copied.Add(uint64(n))
	return b
}

func (t *slabRequests) get() *slabRequest {
	r := t.pool.Get().(*slabRequest)
	t.stats.taken.Add(1)
	t.inUse.Add(1)
	if r.taken.Load() > 0 {
		t.stats.hits.Add(1)
	} else {
		t.stats.misses.Add(1)
	}
	return r
}

// put returns the slab behind a new pointer, which allocates, and drops the
// slices.
func (t *slabRequests) put(r *slabRequest) {
	if r.slab != nil {
		slab := r.slab
		r.slabs.Put(&slab)
		r.slab = nil
	}
	r.used, r.parts, r.body = 0, nil, nil
	t.stats.returned.Add(1)
	t.inUse.Add(-1)
	t.pool.Put(r)
}

func (t *slabRequests) Workers() int { return len(t.held) }

func (t *slabRequests) Loop(worker int, n int64) (sum uint64) {
	held := t.held[worker]
	for range n {
		r := t.get()
		for _, part := range t.shape.Parts {
			b := r.bytes(len(part))
			copy(b, part)
			r.parts = append(r.parts, b)
		}
		if len(t.shape.Body) > 0 {
			r.body = r.bytes(len(t.shape.Body))
			copy(r.body, t.shape.Body)
		}
		sum += r.read()
		if cap(held) == 1 {
			t.put(r)
			continue
		}
		if len(held) < cap(held) {
			held = append(held, r)
			continue
		}
		t.put(held[t.at[worker]])
		held[t.at[worker]] = r
		t.at[worker] = (t.at[worker] + 1) % len(held)
	}
	t.held[worker] = held
	return sum
}

func (r *slabRequest) read() (sum uint64) {
	for _, part := range r.parts {
		sum += workload.Touch(part)
	}
	return sum + workload.Touch(r.body)
}
