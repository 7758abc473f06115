package workload

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isobar-go/isobar/gcctl"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

func init() {
	Register(&Workload{
		Name:    "spike",
		Summary: "replace objects in a store whose live heap steps up and back down, under a memory limit",
		Params: append([]Param{
			Bytes("low", "50MB", "live heap in the first and the third phase", 1<<16, 1<<40),
			Bytes("high", "400MB", "live heap in the second phase", 1<<16, 1<<40),
			Duration("phase", "5s", "length of each of the three phases", time.Millisecond, MaxDuration),
			Int("reads", "8", "stored objects that an operation walks", 0, 10_000),
			Switch("shed", "off", "on: when the controller asks to shed load, keep that much less for the rest of the second "+
				"phase"),
		}, controllerParams("none")...),
		New: newSpike,
	})
}

const spikePhases = 3

// spike is a service whose data grow and shrink: each operation makes a tree of
// about 8 KiB in 64 objects, replaces a random one in a bounded store, and
// walks some others. The bound is higher in the second phase: trees are added
// until it is reached, and the excess is dropped at once at the end. Each
// goroutine has its own store, so only the collector and the allocator are
// shared.
//
// The phases follow the clock from the first operation on, and each has its own
// figures. The harness times single operations only in the second half of the
// budget, so its service times cover the later half of the second phase, and
// the third. If a warning says that a phase was cut short, its figures cover
// less than the phase.
type spike struct {
	low, high int // trees that a worker keeps
	phase     time.Duration
	reads     int
	workers   []*spikeWorker
	ctl       *gcctl.Controller // nil without --controller
	now       func() time.Duration

	begin sync.Once

	// kept is the share of the second phase's bound that remains after shedding,
	// in 1/1024. The controller's callback writes it, the workers read it.
	kept  atomic.Int64
	sheds atomic.Int64 // calls of the callback
}

// A spikeWorker belongs to the goroutine that calls Loop with its number, and
// afterwards to Report.
type spikeWorker struct {
	store *TreeStore
	ops   [spikePhases]int64
	_     [64]byte // keeps workers off each other's cache lines
}

func newSpike(env Env) (Task, error) {
	p := env.Params
	workers := runtime.GOMAXPROCS(0)
	t := &spike{
		low:   max(p.Bytes("low")/TreeBytes/workers, 1),
		high:  max(p.Bytes("high")/TreeBytes/workers, 1),
		phase: p.Duration("phase"),
		reads: p.Int("reads"),
	}
	t.kept.Store(1024)
	for i := range workers {
		rng := rand.New(rand.NewPCG(env.Seed, uint64(i)))
		t.workers = append(t.workers, &spikeWorker{store: newTreeStore(t.low, max(t.low, t.high), rng)})
	}
	var shed func(gcctl.Shed)
	if p.Bool("shed") {
		shed = t.shed
	}
	var err error
	if t.ctl, err = startController(p, shed); err != nil {
		return nil, err
	}
	return t, nil
}

// shed lowers the bound to the live heap less the excess. The controller calls
// it from one goroutine.
func (t *spike) shed(s gcctl.Shed) {
	t.sheds.Add(1)
	full := int64(t.high) * int64(len(t.workers)) * TreeBytes
	t.kept.Store(max(min(t.kept.Load(), (s.LiveBytes-s.ExcessBytes)*1024/full), 1))
}

func (t *spike) Budget() (int64, time.Duration) { return 0, spikePhases * t.phase }

func (t *spike) Workers() int { return len(t.workers) }

func (t *spike) Loop(worker int, n int64) (sum uint64) {
	t.begin.Do(t.start)
	w := t.workers[worker]
	for range n {
		phase := int(t.now() / t.phase)
		w.store.bound = t.bound(phase)
		sum += w.store.put()
		for range t.reads {
			sum += w.store.read()
		}
		if phase < spikePhases {
			w.ops[phase]++
		}
	}
	return sum
}

// start starts the clock, unless a test brought its own.
func (t *spike) start() {
	if t.now == nil {
		began := time.Now()
		t.now = func() time.Duration { return time.Since(began) }
	}
}

// bound returns how many trees a worker keeps in a phase.
func (t *spike) bound(phase int) int {
	if phase != 1 {
		return t.low
	}
	return max(int(int64(t.high)*t.kept.Load()/1024), 1)
}

// Report adds the figures of each phase. Resident memory comes from the
// harness's samples, which start with the measured phase, just before the first
// operation.
func (t *spike) Report(rec *cell.Record) {
	for i := range spikePhases {
		var ops int64
		for _, w := range t.workers {
			ops += w.ops[i]
		}
		prefix := fmt.Sprintf("phase-%d", i+1)
		rec.Set(prefix+"/throughput:ops/s", float64(ops)/t.phase.Seconds())
		if peak := peakBetween(rec.Timeline, time.Duration(i)*t.phase, time.Duration(i+1)*t.phase); peak > 0 {
			rec.Set(prefix+"/rss/peak:bytes", float64(peak))
		}
	}
	if wall := time.Duration(rec.Metrics[cell.WallTime] * 1e9); wall > 0 && wall < spikePhases*t.phase {
		rec.Warn("spike-cut", "the phases take %v but the measurement ended after %v: the figures of the last phase are "+
			"too low", spikePhases*t.phase, wall)
	}
	rec.Set("/spike/shed:calls", float64(t.sheds.Load()))
	rec.Set("/spike/gogc/last:percent", float64(GOGC()))
	reportController(rec, t.ctl)
}

// peakBetween returns the largest resident memory among the samples of an interval; 0
// if there are none.
func peakBetween(line cell.Timeline, from, to time.Duration) (peak int64) {
	for i, rss := range line.RSSBytes {
		if at := time.Duration(line.AtNs[i]); at >= from && at < to {
			peak = max(peak, rss)
		}
	}
	return peak
}

func (t *spike) Close() error { return closeController(t.ctl) }

// A TreeStore keeps trees up to a bound: a live heap of TreeBytes per tree, in
// objects of 128 bytes. One goroutine uses it at a time.
type TreeStore struct {
	trees []*treeNode
	bound int
	made  uint64
	rng   *rand.Rand
}

const (
	treeNodes = 64
	// TreeBytes is the memory of one tree of a TreeStore.
	TreeBytes = treeNodes * 128
)

// A treeNode has 128 bytes.
type treeNode struct {
	left, right *treeNode
	keys        [14]uint64
}

// NewLiveHeap returns a full store of the given size in bytes; nil for less than a tree.
func NewLiveHeap(bytes int, rng *rand.Rand) *TreeStore {
	n := bytes / TreeBytes
	if n == 0 {
		return nil
	}
	return newTreeStore(n, n, rng)
}

// newTreeStore returns a store of n trees made from rng, with room for most.
func newTreeStore(n, most int, rng *rand.Rand) *TreeStore {
	s := &TreeStore{trees: make([]*treeNode, 0, max(n, most)), bound: n, rng: rng, made: rng.Uint64()}
	for range n {
		s.put()
	}
	return s
}

// put makes a tree and adds it; in a full store the tree replaces a random one.
// Trees beyond the bound are dropped first.
func (s *TreeStore) put() uint64 {
	if n := len(s.trees); n > s.bound {
		clear(s.trees[s.bound:])
		s.trees = s.trees[:s.bound]
	}
	s.made++
	tree := growTree(treeNodes, s.made)
	if len(s.trees) < s.bound {
		s.trees = append(s.trees, tree)
	} else {
		s.trees[s.rng.IntN(len(s.trees))] = tree
	}
	return tree.keys[0]
}

// read walks a random tree.
func (s *TreeStore) read() uint64 { return s.trees[s.rng.IntN(len(s.trees))].sum() }

func growTree(n int, seed uint64) *treeNode {
	if n == 0 {
		return nil
	}
	t := new(treeNode)
	for i := range t.keys {
		t.keys[i] = seed + uint64(i)
	}
	t.left, t.right = growTree(n/2, seed*3), growTree(n-1-n/2, seed*5)
	return t
}

func (t *treeNode) sum() uint64 {
	if t == nil {
		return 0
	}
	return t.left.sum() + t.keys[0] + t.keys[13] + t.right.sum()
}

// GOGC reads GOGC without changing it; -1 for off.
func GOGC() int64 { return int64(int32(ReadMetric("/gc/gogc:percent"))) }
