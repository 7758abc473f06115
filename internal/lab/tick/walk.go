package tick

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
)

// walkStartNs is the time of the first tick of every Walk.
const walkStartNs = 1_767_346_200_000_000_000 // 2026-01-02T09:30:00Z

// A Walk generates ticks. The symbol of each is drawn uniformly; the prices of
// a symbol are a geometric random walk that starts between 100 and 1,000. Ticks
// are 1/rate seconds apart.
//
// A step multiplies or divides the price by 1 + 0.0005·|z|, where z is a
// binomial of 64 coins scaled to unit variance. That is close to normal, and
// its operations round the same everywhere: equal seeds give equal ticks on
// every machine. Multiplying in one direction and dividing in the other keeps
// the walk free of drift. It is reflected at 1 and 100,000. Prices are rounded
// to 0.01 for output.
type Walk struct {
	rng     *rand.Rand
	symbols []string
	prices  []float64 // by symbol, before rounding
	rate    float64
	made    int64
}

// NewWalk returns a walk of 1 to MaxSymbols symbols. rate is in ticks per
// second.
func NewWalk(symbols int, rate float64, seed uint64) (*Walk, error) {
	if symbols < 1 || symbols > MaxSymbols {
		return nil, fmt.Errorf("tick: walk: %d symbols: want 1 to %d", symbols, MaxSymbols)
	}
	if !(rate >= 1e-3 && rate <= 1e9) {
		return nil, fmt.Errorf("tick: walk: rate %v: want 0.001 to 1e9 ticks a second", rate)
	}
	w := &Walk{rng: rand.New(rand.NewPCG(seed, 0x7469636b)), symbols: make([]string, symbols),
		prices: make([]float64, symbols), rate: rate}
	for i := range symbols {
		w.symbols[i] = fmt.Sprintf("SYM%04d", i)
		w.prices[i] = 100 + float64(w.rng.Float64()*900)
	}
	return w, nil
}

// Symbols returns the symbols of the walk. The caller must not change them.
func (w *Walk) Symbols() []string { return w.symbols }

// Next stores the next tick in t. It allocates nothing.
func (w *Walk) Next(t *Tick) {
	i := w.rng.IntN(len(w.symbols))
	w.prices[i] = step(w.prices[i], w.rng.Uint64())
	price := cents(w.prices[i])
	t.Symbol = w.symbols[i]
	t.TimeNs = walkStartNs + int64(math.Round(float64(w.made)/w.rate*1e9))
	t.Price = price
	t.Volume = 1 + w.rng.Int64N(1000)
	t.Bid = cents(price * (1 - float64(w.rng.Float64()*0.001)))
	t.Ask = cents(price * (1 + float64(w.rng.Float64()*0.001)))
	w.made++
	t.TradeID = w.made
}

// step moves a price by 64 coins. The conversions prevent the compiler from
// fusing multiplications and additions, which round differently from machine to
// machine.
func step(price float64, coins uint64) float64 {
	const scale = 0.0005 / 4 // 4 is the standard deviation of 64 coins
	heads := bits.OnesCount64(coins) - 32
	factor := 1 + float64(math.Abs(float64(heads))*scale)
	up, down := price*factor, price/factor
	if heads < 0 {
		up, down = down, up
	}
	if up < 1 || up > 100_000 {
		return down
	}
	return up
}

func cents(f float64) float64 { return math.Round(f*100) / 100 }

// GenerateConfig says what Generate writes. Symbols, Rate and Seed are as for
// NewWalk.
type GenerateConfig struct {
	Ticks   int64
	Symbols int
	Rate    float64
	Seed    uint64
	Gzip    bool
}

// Generate writes a file of random ticks. Equal configurations give equal
// ticks, and without Gzip equal bytes.
func Generate(w io.Writer, config GenerateConfig) error {
	walk, err := config.walk()
	if err != nil {
		return err
	}
	if !config.Gzip {
		return generate(w, walk, config.Ticks)
	}
	z := gzip.NewWriter(w)
	return errors.Join(generate(z, walk, config.Ticks), z.Close())
}

// Check returns the error with which Generate would fail at its start.
func (c GenerateConfig) Check() error {
	_, err := c.walk()
	return err
}

func (c GenerateConfig) walk() (*Walk, error) {
	w, err := NewWalk(c.Symbols, c.Rate, c.Seed)
	const century = 100 * 365 * 86400
	if err == nil && (c.Ticks < 0 || float64(c.Ticks)/c.Rate > century) {
		err = fmt.Errorf("tick: generate: %d ticks at %v a second: want 0 or more, spanning less than a century",
			c.Ticks, c.Rate)
	}
	return w, err
}

func generate(w io.Writer, walk *Walk, n int64) error {
	out := NewWriter(w)
	var t Tick
	for range n {
		walk.Next(&t)
		if err := out.Write(&t); err != nil {
			return err
		}
	}
	return out.Flush()
}
