package exhibit

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

func init() {
	register(&workload.Workload{
		Name:    "batches",
		Summary: "process batches of ticks with or without the controller of seed document 000",
		Params: workload.WithBudget("0", "2s",
			workload.Switch("toggle", "off", "on: turn the collector off during a batch and force it at intervals, as in the "+
				"document"),
			workload.Duration("interval", "5s", "time between forced collections", time.Millisecond, workload.MaxDuration),
			workload.Int("batch", "100", "ticks in a batch", 1, 1_000_000),
			workload.Bytes("garbage", "0", "bytes that each tick allocates outside the pool", 0, 1<<20),
			workload.Bytes("live", "10MB", "live heap, in objects of 128 bytes linked to trees", 1<<16, 1<<40),
		),
		New: newBatches,
	})
}

// batches is seed document 000, step 7. An operation is a batch of pooled ticks; with --toggle
// on it is one of the document's GC-free sections, while a ticker forces collections. The
// document's ticks make no garbage, so there is nothing to collect; --garbage gives the
// collector work. The workload hybrid is the same idea with this module's own controller.
type batches struct {
	workload.Budgeted
	processor *seedProcessor
	ticks     int
	garbage   []byte // the latest garbage
	bytes     int
	store     *workload.TreeStore
	ctl       *countingController // nil without --toggle
	stop      chan struct{}
	ended     chan struct{}
}

func newBatches(env workload.Env) (workload.Task, error) {
	p := env.Params
	t := &batches{
		Budgeted: env.Budget, processor: newSeedProcessor(true, env.Seed), ticks: p.Int("batch"), bytes: p.Bytes("garbage"),
	}
	t.store = workload.NewLiveHeap(p.Bytes("live"), t.processor.rng)
	if p.Bool("toggle") {
		t.ctl = newCountingController()
		t.stop, t.ended = make(chan struct{}), make(chan struct{})
		go t.schedule(p.Duration("interval"))
	}
	return t, nil
}

// schedule is the document's StartScheduledGC.
func (t *batches) schedule(interval time.Duration) {
	defer close(t.ended)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.ctl.force(runtime.GC)
		case <-t.stop:
			return
		}
	}
}

func (t *batches) Loop(_ int, n int64) (sum uint64) {
	for range n {
		if t.ctl != nil {
			t.ctl.disable()
		}
		for range t.ticks {
			sum += t.tick()
		}
		if t.ctl != nil {
			t.ctl.enable()
		}
	}
	return sum
}

// tick fills a pooled tick in place, like the document.
func (t *batches) tick() uint64 {
	p := t.processor
	tick := p.get()
	price := 100 + p.rng.Float64()*900
	tick.symbol, tick.timestamp, tick.price = p.symbols[p.rng.IntN(len(p.symbols))], time.Now(), price
	tick.volume, tick.tradeID = p.rng.IntN(999)+1, p.rng.Int64()
	tick.bid, tick.ask = price*(1-p.rng.Float64()*0.001), price*(1+p.rng.Float64()*0.001)
	sum := p.process(tick)
	p.put(tick)
	if t.bytes > 0 {
		t.garbage = make([]byte, t.bytes)
	}
	return sum
}

func (t *batches) Report(rec *cell.Record) { rec.Set("/batches/batch:ticks", float64(t.ticks)) }

func (t *batches) Close() error {
	if t.ctl != nil {
		close(t.stop)
		<-t.ended
		debug.SetGCPercent(t.ctl.percent)
	}
	return nil
}
