package workload

func init() {
	Register(&Workload{
		Name:    "values",
		Summary: "return a struct by value or by pointer",
		Params: WithBudget("0", "10s",
			Choice("return", "value", "value or pointer", "value", "pointer"),
			Choice("size", "small", "small: 16 bytes; large: 1,024 bytes", "small", "large"),
		),
		New: newValues,
	})
}

// values is seed document 000, step 5.3. The functions are not inlined, as they
// would not be across an interface. Inlined, a pointer that does not escape
// stays on the stack, and there is nothing to compare.
type values struct {
	Budgeted
	loop func(from, n int64) uint64
	made int64
}

type smallData struct {
	price  float64
	volume int64
}

type largeData struct {
	smallData
	levels [126]float64 // of an order book
}

func newValues(env Env) (Task, error) {
	loop := map[string]func(from, n int64) uint64{
		"small value": loopSmallValue, "small pointer": loopSmallPointer,
		"large value": loopLargeValue, "large pointer": loopLargePointer,
	}[env.Params.String("size")+" "+env.Params.String("return")]
	return &values{Budgeted: env.Budget, loop: loop, made: int64(env.Seed % 1024)}, nil
}

func (t *values) Loop(_ int, n int64) uint64 {
	from := t.made
	t.made += n
	return t.loop(from, n)
}

func (d *smallData) sum() uint64 { return uint64(d.price) + uint64(d.volume) }

func (d *largeData) sum() uint64 { return d.smallData.sum() + uint64(d.levels[d.volume%126]) }

// data returns the i-th small value.
func data(i int64) smallData { return smallData{price: float64(i & 1023), volume: i} }

//go:noinline
func smallValue(i int64) smallData { return data(i) }

//go:noinline
func smallPointer(i int64) *smallData {
	d := data(i)
	return &d
}

//go:noinline
func largeValue(i int64) largeData {
	d := largeData{smallData: data(i)}
	d.levels[i%126] = d.price
	return d
}

//go:noinline
func largePointer(i int64) *largeData {
	d := &largeData{smallData: data(i)}
	d.levels[i%126] = d.price
	return d
}

func loopSmallValue(from, n int64) (sum uint64) {
	for i := from; i < from+n; i++ {
		d := smallValue(i)
		sum += d.sum()
	}
	return sum
}

func loopSmallPointer(from, n int64) (sum uint64) {
	for i := from; i < from+n; i++ {
		sum += smallPointer(i).sum()
	}
	return sum
}

func loopLargeValue(from, n int64) (sum uint64) {
	for i := from; i < from+n; i++ {
		d := largeValue(i)
		sum += d.sum()
	}
	return sum
}

func loopLargePointer(from, n int64) (sum uint64) {
	for i := from; i < from+n; i++ {
		sum += largePointer(i).sum()
	}
	return sum
}
