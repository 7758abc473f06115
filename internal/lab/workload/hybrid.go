package workload

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/isobar-go/isobar/gcctl"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/tick"
)

func init() {
	Register(&Workload{
		Name:    "hybrid",
		Summary: "process bursts of market ticks with a live heap, under a GC controller",
		Params: append([]Param{
			Int("tickrate", "40_000", "ticks due each second of a burst", 1, 100_000_000),
			Duration("busy", "20ms", "length of a burst", time.Microsecond, MaxDuration),
			Duration("idle", "80ms", "time without ticks after each burst", 0, MaxDuration),
			Duration("duration", "30s", "ticks due later are not processed", time.Millisecond, MaxDuration),
			Bytes("live", "200MB", "live heap, in objects of 128 bytes linked to trees", 1<<16, 1<<40),
			Int("symbols", "1_000", "symbols of the ticks", 1, tick.MaxSymbols),
			Switch("sections", "on", "on: with a controller, a burst is a critical section"),
			Choice("on", "goroutine", "where to process ticks: goroutine, on which they are due, or loop, an eventloop.Loop "+
				"that tells the controller when it is idle", "goroutine", "loop"),
		}, controllerParams("hybrid")...),
		New: newHybrid,
	})
}

// hybrid is seed document 000, step 7: market ticks in batches, with the
// collector off during a batch. As in market, ticks are due at their time (the
// document's ticker drops late ones), each updates the statistics of its
// symbol, and latency is that of a tick, not of a batch. Two things differ.
// Batches may have time between them, and the controller hears of it; and each
// tick replaces a tree of about 8 KiB in a store of live objects. The document
// pools its ticks and has almost no heap: its controller has nothing to collect
// and shows nothing.
//
// The section of a burst opens in the first tick and ends after the last one,
// before the wait for the next burst. Response time includes both calls.
//
// With --on loop the goroutine submits each tick to a loop and waits for it.
// Whenever the loop has nothing to do, it calls Idle with the time until the
// next tick, because a feed knows its sessions.
type hybrid struct {
	burst      int64         // ticks in a burst
	busy, idle time.Duration // per burst
	duration   time.Duration
	sections   bool

	walk    *tick.Walk
	next    tick.Tick
	symbols map[string]*symbolStats
	store   *TreeStore

	ctl     *gcctl.Controller // nil without --controller
	section gcctl.Section     // open from the first tick of a burst to its last
	open    bool
	began   time.Time    // at the first call of Next
	count   int64        // ticks that were due
	begun   int64        // sections begun
	idles   atomic.Int64 // calls of Idle that started a collection
	loop    *hybridLoop  // nil with --on goroutine
}

func newHybrid(env Env) (Task, error) {
	p := env.Params
	h := &hybrid{
		busy:     p.Duration("busy"),
		idle:     p.Duration("idle"),
		duration: p.Duration("duration"),
		sections: p.Bool("sections"),
		symbols:  make(map[string]*symbolStats),
	}
	rate := p.Int("tickrate")
	h.burst = int64(float64(rate) * h.busy.Seconds())
	if h.burst < 1 {
		return nil, fmt.Errorf("%d ticks a second give none in a burst of %v: raise --tickrate or --busy",
			rate, h.busy)
	}
	var err error
	if h.walk, err = tick.NewWalk(p.Int("symbols"), float64(rate), env.Seed); err != nil {
		return nil, err
	}
	for _, s := range h.walk.Symbols() {
		h.symbols[s] = new(symbolStats)
	}
	h.store = NewLiveHeap(p.Bytes("live"), rand.New(rand.NewPCG(env.Seed, 0x687962726964)))
	if h.ctl, err = startController(p, nil); err != nil {
		return nil, err
	}
	if p.String("on") == "loop" {
		if h.loop, err = startHybridLoop(h); err != nil {
			return nil, errors.Join(err, closeController(h.ctl))
		}
	}
	return h, nil
}

func (h *hybrid) Next() (due time.Duration, ok bool, err error) {
	if h.count == 0 {
		h.began = time.Now()
	}
	due = h.due(h.count)
	ok = due < h.duration
	if h.count%h.burst == 0 || !ok {
		h.endBurst(due)
	}
	if !ok {
		return 0, false, nil
	}
	h.walk.Next(&h.next)
	h.count++
	return due, true, nil
}

// due returns when tick n is due.
func (h *hybrid) due(n int64) time.Duration {
	burst, position := n/h.burst, n%h.burst
	return time.Duration(burst)*(h.busy+h.idle) + time.Duration(float64(h.busy)*float64(position)/float64(h.burst))
}

// endBurst ends the section of the burst before the tick that is due then. It tells the
// controller how long the pause will last.
func (h *hybrid) endBurst(due time.Duration) {
	if h.open {
		h.section.End()
		h.open = false
	}
	if h.ctl != nil && h.count > 0 && h.loop == nil {
		h.tellIdle(due)
	}
}

// tellIdle tells the controller that nothing will happen until due.
func (h *hybrid) tellIdle(due time.Duration) {
	if gap := due - time.Since(h.began); gap > 0 && h.ctl.Idle(gap) {
		h.idles.Add(1)
	}
}

func (h *hybrid) Do() uint64 {
	if h.ctl != nil && h.sections && !h.open {
		h.section, h.open = h.ctl.Pause(), true
		h.begun++
	}
	if h.loop != nil {
		return h.loop.do()
	}
	return h.process()
}

func (h *hybrid) process() uint64 {
	s := h.symbols[h.next.Symbol]
	s.add(&h.next)
	return h.store.put() ^ uint64(s.count) ^ uint64(s.updatedNs)
}

func (h *hybrid) Report(rec *cell.Record) {
	rec.Set("/hybrid/sections:sections", float64(h.begun))
	rec.Set("/hybrid/idle:collections", float64(h.idles.Load()))
	reportController(rec, h.ctl)
}

func (h *hybrid) Close() error {
	if h.open { // the harness stopped in the middle of a burst
		h.section.End()
		h.open = false
	}
	return errors.Join(h.loop.close(), closeController(h.ctl))
}

// noController is the level of --controller without a controller.
const noController = "none"

// controllerParams are the parameters of workloads under a GC controller. The
// memory limit is not called budget, because the lab has a flag of that name.
func controllerParams(mode string) []Param {
	return []Param{
		{Name: "controller", Default: mode,
			Help:  "mode of the GC controller: none, default, off, hybrid, idle, adaptive, or percent=N",
			Check: or(noController, checkMode)},
		Bytes("limit", "0", "memory budget of the controller; 0: the one it detects (GOMEMLIMIT, cgroup)", 0, 1<<50),
		Float("target-cpu", "0", "adaptive: share of CPU for the collector; 0: the controller's default", 0, 0.5),
	}
}

func checkMode(s string) error {
	_, err := gcctl.ParseMode(s)
	return err
}

// startController starts the controller that the parameters name; nil for none. It collects
// first: garbage from set-up is the same in every case and should not make the controller act.
func startController(p Params, shed func(gcctl.Shed)) (*gcctl.Controller, error) {
	name := p.String("controller")
	if name == noController {
		return nil, nil
	}
	mode, err := gcctl.ParseMode(name)
	if err != nil {
		return nil, err
	}
	runtime.GC()
	return gcctl.Start(gcctl.Config{Mode: mode, LimitBytes: int64(p.Bytes("limit")), TargetCPU: p.Float("target-cpu"),
		OnShed: shed})
}

func closeController(c *gcctl.Controller) error {
	if c == nil {
		return nil
	}
	return c.Close()
}

// reportController records the controller's counts as of its latest check of
// the heap, which may be a fraction of a second ago.
func reportController(rec *cell.Record, c *gcctl.Controller) {
	if c == nil {
		return
	}
	s := c.Stats()
	for metric, v := range map[string]float64{
		"budget:bytes":            float64(s.BudgetBytes),
		"gogc/changes:changes":    float64(s.PercentChanges),
		"sections/begun:sections": float64(s.Begun),
		"sections/cut:sections":   float64(s.Cut),
		"cycles/scheduled:cycles": float64(s.Scheduled),
		"cycles/idle:cycles":      float64(s.Idle),
		"cycles/watchdog:cycles":  float64(s.Watchdog),
		"cycles/limit:cycles":     float64(s.RuntimeStart),
		"alarms:alarms":           float64(s.Alarms),
		"sheds:calls":             float64(s.Sheds),
		"foreign/changes:changes": float64(s.ForeignChanges),
		"polls:polls":             float64(s.Polls),
		"polls/time:seconds":      s.PollTime.Seconds(),
	} {
		rec.Set("/gcctl/"+metric, v)
	}
	if s.Fallback {
		rec.Warn("gcctl-fallback", "the controller fell back to standard behaviour")
	}
}
