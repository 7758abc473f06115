package workload

import (
	"fmt"
	"math"

	"github.com/isobar-go/isobar/internal/lab/tick"
)

func init() {
	Register(&Workload{
		Name:    "buffers",
		Summary: "moving average and volatility over column buffers, pooled in several ways",
		Params: WithBudget("0", "10s",
			Choice("pool", "mutex", "none: new buffers each time; mutex: one list, one lock; sharded: one list per P; "+
				"syncpool: sync.Pool", "none", "mutex", "sharded", "syncpool"),
			Int("rows", "1_000", "ticks that an operation analyses", 2, 10_000_000),
			Int("window", "20", "ticks in the moving average", 1, 10_000_000),
			Int("capacity", "100", "buffers that a pool (mutex, sharded) starts with, and the most it holds", 0, 1_000_000),
			Int("goroutines", "1", "concurrent goroutines", 1, maxWorkers),
		),
		New: newBuffers,
	})
}

// buffers is the buffer management of seed document 000, step 5.2: an operation
// obtains a buffer of price, volume and time columns, copies some ticks into
// it, computes over them and gives the buffer back.
type buffers struct {
	Budgeted
	pool         columnPool
	rows, window int
	ticks        []tick.Tick // read-only; each operation starts at a different place
	workers      []buffersWorker
}

// A buffersWorker is owned by its worker.
type buffersWorker struct {
	start int       // index in ticks where the next operation starts
	_     [120]byte // keeps workers off each other's cache lines
}

const buffersTicks = 1 << 14

func newBuffers(env Env) (Task, error) {
	p := env.Params
	t := &buffers{
		Budgeted: env.Budget,
		rows:     p.Int("rows"),
		window:   p.Int("window"),
		ticks:    make([]tick.Tick, buffersTicks),
		workers:  make([]buffersWorker, p.Int("goroutines")),
	}
	if t.window > t.rows {
		return nil, fmt.Errorf("a window of %d exceeds the %d rows: lower --window or raise --rows",
			t.window, t.rows)
	}
	walk, err := tick.NewWalk(1, 100_000, env.Seed)
	if err != nil {
		return nil, err
	}
	for i := range t.ticks {
		walk.Next(&t.ticks[i])
	}
	for i := range t.workers {
		t.workers[i].start = i * 997 % buffersTicks
	}
	t.pool = newColumnPool(p.String("pool"), t.rows, p.Int("capacity"))
	return t, nil
}

func (t *buffers) Workers() int { return len(t.workers) }

func (t *buffers) Loop(worker int, n int64) uint64 {
	w := &t.workers[worker]
	var sum uint64
	for range n {
		sum += t.operation(w.start)
		w.start = (w.start + t.rows) % buffersTicks
	}
	return sum
}

func (t *buffers) operation(start int) uint64 {
	c := t.get()
	for i := range t.rows {
		c.append(&t.ticks[(start+i)%buffersTicks])
	}
	average := c.movingAverage(t.window)
	volatility := c.volatility()
	var volume int64
	for _, v := range c.volumes {
		volume += v
	}
	span := c.times[len(c.times)-1] - c.times[0]
	t.put(c)
	return math.Float64bits(average) ^ math.Float64bits(volatility) ^ uint64(volume) ^ uint64(span)
}

// get returns an empty buffer: the pool's or, if it has none, a new one.
func (t *buffers) get() *columns {
	if c := t.pool.get(); c != nil {
		return c
	}
	return newColumns(t.rows)
}

func (t *buffers) put(c *columns) {
	c.reset()
	t.pool.put(c)
}

// columns is a buffer that holds ticks by column.
type columns struct {
	prices  []float64
	volumes []int64
	times   []int64 // nanoseconds since the Unix epoch
}

func newColumns(rows int) *columns {
	return &columns{make([]float64, 0, rows), make([]int64, 0, rows), make([]int64, 0, rows)}
}

func (c *columns) append(t *tick.Tick) {
	c.prices = append(c.prices, t.Price)
	c.volumes = append(c.volumes, t.Volume)
	c.times = append(c.times, t.TimeNs)
}

func (c *columns) reset() {
	c.prices, c.volumes, c.times = c.prices[:0], c.volumes[:0], c.times[:0]
}

// movingAverage returns the highest mean price over any window of consecutive
// rows.
func (c *columns) movingAverage(window int) float64 {
	sum := 0.0
	for _, p := range c.prices[:window] {
		sum += p
	}
	highest := sum
	for i := window; i < len(c.prices); i++ {
		sum += c.prices[i] - c.prices[i-window]
		highest = max(highest, sum)
	}
	return highest / float64(window)
}

// volatility returns the standard deviation of the relative change between
// rows, by Welford's method.
func (c *columns) volatility() float64 {
	mean, squares := 0.0, 0.0
	for i := 1; i < len(c.prices); i++ {
		change := c.prices[i]/c.prices[i-1] - 1
		delta := change - mean
		mean += delta / float64(i)
		squares += delta * (change - mean)
	}
	return math.Sqrt(squares / float64(len(c.prices)-1))
}
