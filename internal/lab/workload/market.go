package workload

import (
	"errors"
	"io"
	"math"
	"os"
	"time"

	"github.com/isobar-go/isobar/gcctl"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/tick"
	"github.com/isobar-go/isobar/monitor"
)

func init() {
	Register(&Workload{
		Name:    "market",
		Summary: "process market ticks that arrive at a given rate, generated or from a file",
		Params: append([]Param{
			Int("tickrate", "100_000", "ticks due each second", 1, 100_000_000),
			Duration("duration", "30s", "ticks due later are not processed; 0 with --input: the whole file", 0, MaxDuration),
			Int("symbols", "1_000", "symbols of generated ticks", 1, tick.MaxSymbols),
			Switch("pool", "off", "on: take ticks from a pool; off: allocate each"),
			Int("capacity", "10_000", "ticks that the pool holds", 1, 100_000_000),
			{Name: "input", Help: "replay the ticks of this CSV file, which may be gzip'd", Path: true,
				Check: or("", checkInput)},
			Choice("pace", "fixed", "fixed: input ticks are due at the tick rate; recorded: according to their timestamps",
				"fixed", "recorded"),
			Float("speed", "1", "speed-up of the recorded pace", 1e-3, 1e9),
			{Name: "monitor", Default: noMonitor,
				Help:  "none, or the interval of a live monitor running alongside, such as 1s",
				Check: or(noMonitor, DurationRange(100*time.Millisecond, time.Minute))},
			Switch("skip-bad", "off", "on: skip and count malformed lines of the input"),
		}, controllerParams(noController)...),
		New: newMarket,
	})
}

// checkInput refuses an unreadable file before anything is measured.
func checkInput(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return errors.New("a directory: name a file")
	}
	return nil
}

// market is the tick processor of seed document 000, step 4, as an open loop: a
// tick is due at its time even if the previous one is not done, whereas the
// document's ticker drops ticks it cannot deliver. An operation obtains a tick,
// fills it, updates the statistics of its symbol and gives it back. Without the
// pool it allocates the tick; with the pool it allocates nothing. The document
// allocates another tick each time and copies it.
//
// A goroutine of its own reads the input ahead (see [tick.Ahead]). If that
// happened between operations, a slow disk or the decompressor would delay
// ticks that are due, and the delay would count as the processor's. Only the
// copy of a tick remains between operations. BenchmarkMarketNext shows both
// ways, and where inline reading wins: with GOMAXPROCS=1 the goroutine takes
// the only P for up to 4,096 ticks at a time, so the 99.9th percentile is still
// lower but the maximum is higher. The CPU time for reading is part of the
// cell's.
type market struct {
	read     func(*tick.Tick) error // io.EOF at the end
	input    *tick.Ahead            // nil for generated ticks
	name     string                 // of the input
	rate     int64
	duration time.Duration // 0 for no bound
	recorded bool
	speed    float64

	next      tick.Tick // for the next operation
	count     int64     // ticks that were due
	firstNs   int64     // recorded pace: timestamp of the first tick
	latest    time.Duration
	unordered int64
	ended     bool
	cut       bool // ended by duration

	pool    tickPool   // nil without --pool
	current *tick.Tick // the operation's; on the heap, because the processor may keep it
	symbols map[string]*symbolStats
	ctl     *gcctl.Controller // nil without --controller
	monitor *monitor.Monitor  // nil without --monitor
}

// noMonitor is the level of --monitor without a monitor.
const noMonitor = "none"

func newMarket(env Env) (Task, error) {
	m, err := newMarketSource(env)
	if err != nil {
		return nil, err
	}
	if m.ctl, err = startController(env.Params, nil); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	if env.Params.String("monitor") != noMonitor {
		if m.monitor, err = monitor.New(monitor.Config{Interval: env.Params.Duration("monitor")}); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

// newMarketSource is newMarket without the controller and the monitor.
func newMarketSource(env Env) (*market, error) {
	p := env.Params
	m := &market{
		name:     p.String("input"),
		rate:     int64(p.Int("tickrate")),
		duration: p.Duration("duration"),
		recorded: p.String("pace") == "recorded",
		speed:    p.Float("speed"),
		symbols:  make(map[string]*symbolStats),
	}
	switch {
	case m.name == "" && m.recorded:
		return nil, errors.New("--pace recorded replays a file: name it with --input")
	case m.name == "" && m.duration == 0:
		return nil, errors.New("--duration 0 never ends without --input: set a duration")
	}
	if p.Bool("pool") {
		m.pool = newTickPool(p.Int("capacity"))
	}
	if m.name != "" {
		r, err := tick.Open(m.name, p.Bool("skip-bad"))
		if err != nil {
			return nil, err
		}
		m.input = tick.NewAhead(r)
		m.read = m.input.Next
		return m, nil
	}
	walk, err := tick.NewWalk(p.Int("symbols"), float64(m.rate), env.Seed)
	if err != nil {
		return nil, err
	}
	for _, s := range walk.Symbols() {
		m.symbols[s] = new(symbolStats)
	}
	m.read = func(t *tick.Tick) error {
		walk.Next(t)
		return nil
	}
	return m, nil
}

func (m *market) Next() (due time.Duration, ok bool, err error) {
	if m.ended {
		return 0, false, nil
	}
	if err := m.read(&m.next); err != nil {
		m.ended = true
		if err == io.EOF {
			err = nil
		}
		return 0, false, err
	}
	if m.recorded {
		due = m.recordedDue(m.next.TimeNs)
	} else {
		due = time.Duration(m.count/m.rate*1e9 + m.count%m.rate*1e9/m.rate)
	}
	if m.duration > 0 && due >= m.duration {
		m.ended, m.cut = true, true
		return 0, false, nil
	}
	m.count++
	return due, true, nil
}

// recordedDue returns when a tick with that timestamp is due, never before the
// ticks that precede it.
func (m *market) recordedDue(ns int64) time.Duration {
	if m.count == 0 {
		m.firstNs = ns
	}
	if ns >= m.firstNs {
		elapsed := float64(uint64(ns)-uint64(m.firstNs)) / m.speed
		due := time.Duration(min(elapsed, 1<<62)) // fits in an int64
		if due >= m.latest {
			m.latest = due
			return due
		}
	}
	m.unordered++
	return m.latest
}

func (m *market) Do() uint64 {
	t := m.pool.take()
	*t = m.next
	m.current = t
	sum := m.process(t)
	m.pool.give(t)
	return sum
}

// process updates the statistics of the tick's symbol.
func (m *market) process(t *tick.Tick) uint64 {
	s := m.symbols[t.Symbol]
	if s == nil {
		s = new(symbolStats)
		m.symbols[t.Symbol] = s
	}
	s.add(t)
	return uint64(s.count) ^ uint64(s.updatedNs) ^ math.Float64bits(s.vwap())
}

func (m *market) Report(rec *cell.Record) {
	reportController(rec, m.ctl)
	if m.input == nil {
		return
	}
	rec.Set("/market/skipped:lines", float64(m.input.Skipped()))
	if n := m.input.Skipped(); n > 0 {
		rec.Warn("skipped-lines", "%d malformed lines of %s were skipped", n, m.name)
	}
	if m.unordered > 0 {
		rec.Set("/market/unordered:ticks", float64(m.unordered))
		rec.Warn("unordered-ticks", "%d ticks of %s are older than earlier ones; they were due with those", m.unordered,
			m.name)
	}
	if m.cut {
		rec.Warn("input-cut", "%s has ticks due after %v, which were not processed; --duration 0 replays all", m.name,
			m.duration)
	}
}

func (m *market) Close() error {
	err := closeController(m.ctl)
	if m.monitor != nil {
		err = errors.Join(err, m.monitor.Close())
	}
	if m.input != nil {
		err = errors.Join(err, m.input.Close())
	}
	return err
}

// A tickPool is the document's pool, a channel of ticks, except that it resets
// a tick completely, so that no timestamp outlives its tick. The nil pool
// allocates.
type tickPool chan *tick.Tick

func newTickPool(capacity int) tickPool {
	p := make(tickPool, capacity)
	for range capacity {
		p <- new(tick.Tick)
	}
	return p
}

// take returns an empty tick.
func (p tickPool) take() *tick.Tick {
	select {
	case t := <-p: // never, if nil
		return t
	default:
		return new(tick.Tick)
	}
}

// give returns a tick to the pool, or drops it if the pool is full.
func (p tickPool) give(t *tick.Tick) {
	if p == nil {
		return
	}
	*t = tick.Tick{}
	select {
	case p <- t:
	default:
	}
}
