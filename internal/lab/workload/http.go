package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/isobar-go/isobar/gcctl"
	"github.com/isobar-go/isobar/http11"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/latency"
)

// httpMemory returns the request memory for a level of --server: a memory mode of
// http11, on or off the heap.
func httpMemory(server string) http11.Memory {
	name, offHeap := strings.CutSuffix(server, offHeapSuffix)
	mode, _ := http11.ParseMemoryMode(name) // the parameter's check ensures that it is one
	return http11.Memory{Mode: mode, OffHeap: offHeap}
}

const offHeapSuffix = "-offheap"

const netHTTP = "nethttp"

func init() {
	servers, offHeap := memoryModes()
	for _, name := range offHeap {
		servers = append(servers, name+offHeapSuffix)
	}
	own := []Param{
		Choice("server", http11.Pooled.String(), "http11 with that request memory: "+strings.Join(servers, ", ")+"; or "+
			netHTTP, append(servers, netHTTP)...),
		Choice("engine", "goroutines", "what runs the handlers of http11: goroutines or readiness", "goroutines",
			"readiness"),
		Choice("answer", "text", "text, file (the same text from a file) or upgrade (connections carry messages that the "+
			"server echoes, like a WebSocket)", "text", "file", "upgrade"),
		Duration("wait", "0s", "time that the text handler waits, as for another service", 0, MaxDuration),
		Bytes("alloc", "4KiB", "memory that the handler fills for each request", 0, 1<<30),
		Choice("from", "request", "source of that memory: request memory (Context.UnsafeAlloc) or heap; net/http has only "+
			"the heap", "request", "heap"),
		Bytes("reply", "128", "bytes of the answer's body", 0, 1<<26),
		Bytes("live", "0", "live heap of the server, in objects of 128 bytes linked to trees", 0, 1<<40),
	}
	Register(&Workload{
		Name:    "http",
		Summary: "an HTTP server with a live heap, loaded by another process",
		Params:  append(append(own, loadParams...), controllerParams(noController)...),
		New:     newHTTP,
	})
}

// httpServer is a server in the cell's process. Its load comes from another process (workload
// httpload), so that CPU time, allocation and collections in the record are the server's alone.
// Latency is measured by the load generator.
type httpServer struct {
	params  Params
	beside  func(context.Context, cell.Cell) (cell.Record, error)
	address string
	file    string             // with --answer file
	load    map[string]float64 // the load generator's figures
	stop    func(context.Context) error
	served  chan error
	store   *TreeStore
	ctl     *gcctl.Controller // nil without --controller
	stats   func() http11.Stats
}

func newHTTP(env Env) (Task, error) {
	p := env.Params
	if env.Beside == nil {
		return nil, errors.New("no runner to start the load: run this workload with isobar lab run")
	}
	if p.String("answer") == "upgrade" && (p.Bytes("body") == 0 || p.Int("pipeline") > 1) {
		return nil, errors.New("--answer upgrade needs messages of 1 byte or more, one at a time: raise " +
			"--body, leave --pipeline out")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &httpServer{params: p, beside: env.Beside, address: l.Addr().String(), served: make(chan error, 1)}
	t.store = NewLiveHeap(p.Bytes("live"), rand.New(rand.NewPCG(env.Seed, 0x68747470)))
	if t.ctl, err = startController(p, nil); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if p.String("answer") == "file" {
		if t.file, err = replyFile(p.Bytes("reply")); err != nil {
			return nil, errors.Join(err, closeController(t.ctl), l.Close())
		}
	}
	server := t.http11
	if p.String("server") == netHTTP {
		server = t.netHTTP
	}
	serve := server()
	go func() { t.served <- serve(l) }()
	return t, nil
}

func (t *httpServer) Drive(ctx context.Context) (Driving, error) {
	load := cell.Cell{Config: cell.Config{Workload: "httpload", GC: cell.GC{Percent: 400},
		Params: map[string]string{"address": t.address}}}
	if t.params.String("answer") == "upgrade" {
		load.Params["upgrade"] = "on"
	}
	for _, p := range loadParams {
		load.Params[p.Name] = t.params.String(p.Name)
	}
	rec, err := t.beside(ctx, load)
	if err != nil {
		return Driving{}, err
	}
	t.load = rec.Metrics
	d := Driving{
		Due: int64(rec.Metrics[cell.Scheduled]), Done: int64(rec.Metrics[cell.Done]),
		Response: new(latency.Histogram), Service: new(latency.Histogram),
	}
	if rate := rec.Metrics[cell.Throughput]; rate > 0 {
		d.Elapsed = time.Duration(float64(d.Done) / rate * float64(time.Second))
	}
	for name, h := range map[string]*latency.Histogram{cell.HistResponse: d.Response, cell.HistService: d.Service} {
		if err := h.UnmarshalBinary(rec.Latency[name]); err != nil {
			return Driving{}, fmt.Errorf("the load's %s: %w", name, err)
		}
	}
	return d, nil
}

func (t *httpServer) Report(rec *cell.Record) {
	ops := rec.Metrics[cell.Done]
	if ops < rec.Metrics[cell.Scheduled] {
		rec.Warn("backlog", "%.0f of %.0f requests were not sent in time: this configuration cannot keep up with the rate",
			rec.Metrics[cell.Scheduled]-ops, rec.Metrics[cell.Scheduled])
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
	for _, metric := range []string{halfOpenMetric, reopenedMetric} {
		if v, ok := t.load[metric]; ok {
			rec.Set(metric, v)
		}
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
	if t.file != "" {
		err = errors.Join(err, os.RemoveAll(filepath.Dir(t.file)))
	}
	return errors.Join(err, closeController(t.ctl))
}
