package exhibit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/isobar-go/isobar/internal/lab/workload"
	"github.com/isobar-go/isobar/latency"
)

func init() {
	register(&workload.Workload{
		Name:    "ticker",
		Summary: "process market ticks delivered by a time.Ticker, and count those that it drops",
		Params: []workload.Param{
			workload.Int("tickrate", "100_000", "ticks due each second", 1, 100_000_000),
			workload.Duration("duration", "5s", "how long", time.Millisecond, workload.MaxDuration),
			workload.Switch("pool", "off", "on: take ticks from a pool; off: allocate each"),
		},
		New: newTicker,
	})
}

// ticker is the loop of seed document 000, step 4: it processes a tick when a time.Ticker
// delivers one, and times it from then on. A ticker drops ticks while the receiver is busy,
// so the loop misses both the lost ticks and the time they waited. The workload market does
// the same work with ticks that are due on schedule.
type ticker struct {
	interval, duration time.Duration
	processor          *seedProcessor
}

func newTicker(env workload.Env) (workload.Task, error) {
	p := env.Params
	interval := time.Second / time.Duration(p.Int("tickrate"))
	if interval <= 0 {
		return nil, fmt.Errorf("a ticker cannot have %s ticks a second: lower --tickrate",
			p.String("tickrate"))
	}
	return &ticker{interval, p.Duration("duration"), newSeedProcessor(p.Bool("pool"), env.Seed)}, nil
}

// Drive implements Driven.
func (t *ticker) Drive(context.Context) (workload.Driving, error) {
	d := workload.Driving{Due: int64(t.duration / t.interval), Service: new(latency.Histogram)}
	tick := time.NewTicker(t.interval)
	defer tick.Stop()
	began := time.Now()
	for d.Elapsed < t.duration {
		<-tick.C
		start := time.Now()
		t.processor.operation()
		d.Service.Record(time.Since(start))
		d.Done++
		d.Elapsed = time.Since(began)
	}
	return d, nil
}

func (t *ticker) Close() error { return nil }

// A seedTick and the processor below have the document's fields and faults:
// generate allocates a tick that is copied into another, and get resets all
// fields but the time.
type seedTick struct {
	symbol    string
	timestamp time.Time
	price     float64
	volume    int
	bid, ask  float64
	tradeID   int64
}

type seedProcessor struct {
	pool    chan *seedTick // nil for none
	symbols []string
	stats   map[string]*seedStats
	rng     *rand.Rand
}

type seedStats struct {
	count, volume   int
	high, low, vwap float64
	updated         time.Time
}

func newSeedProcessor(pool bool, seed uint64) *seedProcessor {
	p := &seedProcessor{
		symbols: make([]string, 1000), stats: make(map[string]*seedStats), rng: rand.New(rand.NewPCG(seed, 0x7469636b)),
	}
	for i := range p.symbols {
		p.symbols[i] = fmt.Sprintf("SYM%04d", i)
		p.stats[p.symbols[i]] = new(seedStats)
	}
	if pool {
		p.pool = make(chan *seedTick, 10_000)
		for range cap(p.pool) {
			p.pool <- new(seedTick)
		}
	}
	return p
}

func (p *seedProcessor) operation() uint64 {
	t := p.get()
	*t = *p.generate()
	sum := p.process(t)
	p.put(t)
	return sum
}

func (p *seedProcessor) get() *seedTick {
	select {
	case t := <-p.pool: // never if the pool is nil
		t.symbol, t.price, t.volume, t.bid, t.ask, t.tradeID = "", 0, 0, 0, 0, 0
		return t
	default:
		return new(seedTick)
	}
}

func (p *seedProcessor) put(t *seedTick) {
	select {
	case p.pool <- t: // never if the pool is nil
	default:
	}
}

// generate is not inlined: the document's version is too large to be.
//
//go:noinline
func (p *seedProcessor) generate() *seedTick {
	price := 100 + p.rng.Float64()*900
	return &seedTick{
		symbol: p.symbols[p.rng.IntN(len(p.symbols))], timestamp: time.Now(), price: price, volume: p.rng.IntN(1000) + 1,
		bid: price * (1 - p.rng.Float64()*0.001), ask: price * (1 + p.rng.Float64()*0.001), tradeID: p.rng.Int64(),
	}
}

func (p *seedProcessor) process(t *seedTick) uint64 {
	s := p.stats[t.symbol]
	s.count++
	s.updated = t.timestamp
	s.high, s.low = max(s.high, t.price), min(s.low, t.price)
	s.volume += t.volume
	s.vwap = (s.vwap*float64(s.volume-t.volume) + t.price*float64(t.volume)) / float64(s.volume)
	return uint64(s.count) ^ uint64(t.volume)
}
