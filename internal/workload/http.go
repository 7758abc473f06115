package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/isobar-go/isobar/gcctl"
	"github.com/isobar-go/isobar/http11"
	"github.com/isobar-go/isobar/internal/cell"
	"github.com/isobar-go/isobar/latency"
)

// httpMemory are the levels of --server that are servers of http11.
var httpMemory = map[string]http11.Memory{
	"pooled":        {Mode: http11.Pooled},
	"slab":          {Mode: http11.Slab},
	"slab-offheap":  {Mode: http11.Slab, OffHeap: true},
	"arena":         {Mode: http11.Arena},
	"arena-offheap": {Mode: http11.Arena, OffHeap: true},
}

const netHTTP = "nethttp"

func init() {
	own := []Param{
		{Name: "server", Default: "pooled", Help: "http11 with that request memory: pooled, slab, slab-offheap, arena, arena-offheap; or nethttp", Check: OneOf("pooled", "slab", "slab-offheap", "arena", "arena-offheap", netHTTP)},
		{Name: "alloc", Default: "4KiB", Help: "memory that the handler fills for each request", Check: BytesRange(0, 1<<30)},
		{Name: "from", Default: "request", Help: "where that comes from: request memory (Context.Alloc), or the heap; net/http has the heap only", Check: OneOf("request", "heap")},
		{Name: "reply", Default: "128", Help: "bytes of the answer's body", Check: BytesRange(0, 1<<26)},
		{Name: "live", Default: "0", Help: "live heap of the server, in objects of 128 bytes linked to trees", Check: BytesRange(0, 1<<40)},
	}
	Register(&Workload{
		Name:    "http",
		Summary: "an HTTP server under the load of another process, beside a live heap",
		Params:  append(append(own, loadParams...), controllerParams(noController)...),
		New:     newHTTP,
	})
}

// httpServer is a server in the cell's process; its load comes from a process
// of its own (workload httpload), so that the record's CPU time, allocation and
// collections are the server's. Latency is what the load generator saw.
type httpServer struct {
	params  Params
	beside  func(context.Context, cell.Cell) (cell.Record, error)
	address string
	stop    func(context.Context) error
	served  chan error
	store   *treeStore
	ctl     *gcctl.Controller // nil without
	stats   func() http11.Stats
}

func newHTTP(env Env) (Task, error) {
	p := env.Params
	if env.Beside == nil {
		return nil, errors.New("workload: http: there is no runner to start the load with")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("workload: http: %w", err)
	}
	t := &httpServer{params: p, beside: env.Beside, address: l.Addr().String(), served: make(chan error, 1)}
	if n := p.Bytes("live") / treeBytes; n > 0 {
		t.store = newTreeStore(n, n, rand.New(rand.NewPCG(env.Seed, 0x68747470)))
	}
	if t.ctl, err = startController("http", p, nil); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	serve := t.http11()
	if p.String("server") == netHTTP {
		serve = t.netHTTP()
	}
	go func() { t.served <- serve(l) }()
	return t, nil
}

func (t *httpServer) http11() func(net.Listener) error {
	reply, alloc := t.params.Bytes("reply"), t.params.Bytes("alloc")
	scratch := func(c *http11.Context) []byte { return c.Alloc(alloc) }
	if t.params.String("from") == "heap" {
		scratch = func(*http11.Context) []byte { return make([]byte, alloc) }
	}
	srv := &http11.Server{
		Memory:       httpMemory[t.params.String("server")],
		MaxBodyBytes: 1 << 30,
		Handler: http11.HandlerFunc(func(c *http11.Context) {
			if _, err := c.Body(); err != nil {
				return // the server answers
			}
			b := scratch(c)
			fill(b)
			c.SetHeader("Content-Type", "text/plain")
			writeReply(c, b, reply)
		}),
	}
	if t.ctl != nil {
		srv.Idle = t.ctl.Idle
	}
	t.stop, t.stats = srv.Shutdown, srv.Stats
	return srv.Serve
}

func (t *httpServer) netHTTP() func(net.Listener) error {
	reply, alloc := t.params.Bytes("reply"), t.params.Bytes("alloc")
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		b := make([]byte, alloc)
		fill(b)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", strconv.Itoa(reply)) // as http11 does by itself
		writeReply(w, b, reply)
	})}
	t.stop, t.stats = srv.Shutdown, nil
	return srv.Serve
}

// text is what replies are made of.
var text = bytes.Repeat([]byte("abcdefghijklmnop"), 256)

// fill writes all of b, as rendering a page would.
func fill(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, text):]
	}
}

// writeReply writes n bytes: what b holds first. The client notices what is
// missing.
func writeReply(w io.Writer, b []byte, n int) {
	for part := b; n > 0; part = text {
		m := min(n, len(part))
		w.Write(part[:m])
		n -= m
	}
}

func (t *httpServer) Drive(ctx context.Context) (Driving, error) {
	load := cell.Cell{Config: cell.Config{Workload: "httpload", GC: cell.GC{Percent: 400}, Params: map[string]string{"address": t.address}}}
	for _, p := range loadParams {
		load.Params[p.Name] = t.params.String(p.Name)
	}
	rec, err := t.beside(ctx, load)
	if err != nil {
		return Driving{}, fmt.Errorf("workload: http: %w", err)
	}
	d := Driving{
		Due: int64(rec.Metrics[cell.Scheduled]), Done: int64(rec.Metrics[cell.Done]),
		Response: new(latency.Histogram), Service: new(latency.Histogram),
	}
	if rate := rec.Metrics[cell.Throughput]; rate > 0 {
		d.Elapsed = time.Duration(float64(d.Done) / rate * float64(time.Second))
	}
	for name, h := range map[string]*latency.Histogram{cell.HistResponse: d.Response, cell.HistService: d.Service} {
		if err := h.UnmarshalBinary(rec.Latency[name]); err != nil {
			return Driving{}, fmt.Errorf("workload: http: %s of the load: %w", name, err)
		}
	}
	return d, nil
}

func (t *httpServer) Report(rec *cell.Record) {
	ops := rec.Metrics[cell.Done]
	if ops < rec.Metrics[cell.Scheduled] {
		rec.Warn("backlog", "%.0f of %.0f requests were not sent in time: the rate is more than this configuration does", rec.Metrics[cell.Scheduled]-ops, rec.Metrics[cell.Scheduled])
	}
	if cpu, ok := rec.Metrics[cell.TotalCPU]; ok && ops > 0 {
		rec.Set(cell.OpCPU, cpu/ops*1e9)
		rec.Set("/http/cpu/user:ns", rec.Metrics[cell.UserCPU]/ops*1e9)
	}
	if t.stats != nil {
		m := t.stats().Memory
		rec.Set("/http/memory/hits:blocks", float64(m.Hits))
		rec.Set("/http/memory/misses:blocks", float64(m.Misses))
	}
	reportController(rec, t.ctl)
}

func (t *httpServer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := t.stop(ctx)
	if e := <-t.served; !errors.Is(e, http11.ErrServerClosed) && !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	if err != nil {
		err = fmt.Errorf("workload: http: %w", err)
	}
	return errors.Join(err, closeController("http", t.ctl))
}
