package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
)

func init() {
	Register(&Workload{
		Name:    "prealloc",
		Summary: "build a slice or a map with and without a size hint",
		Params: WithBudget("0", "10s",
			Choice("kind", "slice", "what to build: slice or map", "slice", "map"),
			Switch("hint", "off", "on: make it with the capacity it needs; off: let it grow"),
			Int("n", "1_000", "elements", 1, 10_000_000),
		),
		New: newPrealloc,
	})
}

// prealloc is seed document 000, step 5.4: prices appended to a slice, or
// statistics entered in a map by symbol. The result is kept until the next
// operation, so that it is on the heap as usual. The elements already exist:
// only the slice or map itself is allocated.
type prealloc struct {
	Budgeted
	kind   string
	hint   int // requested capacity; 0 for none
	prices []float64
	stats  []symbolStats
	names  []string
	slice  []float64               // the latest result
	table  map[string]*symbolStats // the latest result
}

func newPrealloc(env Env) (Task, error) {
	p := env.Params
	n := p.Int("n")
	t := &prealloc{Budgeted: env.Budget, kind: p.String("kind")}
	if p.Bool("hint") {
		t.hint = n
	}
	rng := rand.New(rand.NewPCG(env.Seed, 0x70726561))
	if t.kind == "slice" {
		t.prices = make([]float64, n)
		for i := range t.prices {
			t.prices[i] = 100 + 900*rng.Float64()
		}
		return t, nil
	}
	t.stats, t.names = make([]symbolStats, n), make([]string, n)
	for i := range n {
		t.stats[i].count = rng.Int64()
		t.names[i] = fmt.Sprintf("SYM%04d", i)
	}
	return t, nil
}

func (t *prealloc) Loop(_ int, n int64) uint64 {
	operation := t.buildSlice
	if t.kind == "map" {
		operation = t.buildMap
	}
	var sum uint64
	for range n {
		sum += operation()
	}
	return sum
}

func (t *prealloc) buildSlice() uint64 {
	s := make([]float64, 0, t.hint)
	for i := range t.prices {
		s = append(s, t.price(i))
	}
	t.slice = s
	return uint64(len(s)) ^ math.Float64bits(s[0]) ^ math.Float64bits(s[len(s)-1])
}

// price simulates the code that computes an element.
func (t *prealloc) price(i int) float64 { return t.prices[i] }

func (t *prealloc) buildMap() uint64 {
	m := make(map[string]*symbolStats, t.hint)
	for i, name := range t.names {
		m[name] = &t.stats[i]
	}
	t.table = m
	return uint64(len(m)) ^ uint64(m[t.names[0]].count) ^ uint64(m[t.names[len(t.names)-1]].count)
}
