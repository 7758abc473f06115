package workload

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Bytes returns a size parameter, such as 1024 or 64KiB.
func (p Params) Bytes(name string) int {
	n, err := cell.ParseBytes(p.get(name))
	if err != nil {
		panic(fmt.Sprintf("workload: parameter %s: %v", name, err))
	}
	return int(n)
}

// BytesRange returns a check for a size of lo to hi bytes.
func BytesRange(lo, hi int64) func(string) error {
	return func(s string) error {
		n, err := cell.ParseBytes(s)
		if err != nil || n < lo || n > hi {
			return fmt.Errorf("want a size from %s to %s, such as 1024 or 64KiB", cell.FormatBytes(lo), cell.FormatBytes(hi))
		}
		return nil
	}
}

const (
	maxWorkers = 10_000
	// MaxDuration bounds duration parameters.
	MaxDuration = 30 * 24 * time.Hour
)

// Budgeted implements Closed.Budget with the parameters iterations and
// duration. Closed tasks embed it.
type Budgeted struct {
	ops int64
	d   time.Duration
}

// Budget implements Closed.
func (b Budgeted) Budget() (ops int64, d time.Duration) { return b.ops, b.d }

// WithBudget appends the two budget parameters, with their defaults.
func WithBudget(iterations, duration string, params ...Param) []Param {
	return append(params,
		Param{Name: "iterations", Default: iterations,
			Help: "operations over all goroutines; 0: as many as the duration allows", Check: IntRange(0, math.MaxInt)},
		Param{Name: "duration", Default: duration, Help: "longest time; 0: as long as the iterations take",
			Check: DurationRange(0, MaxDuration)})
}

// NewBudget reads the two parameters; at least one must not be 0.
func NewBudget(p Params) (Budgeted, error) {
	b := Budgeted{ops: int64(p.Int("iterations")), d: p.Duration("duration")}
	if b.ops == 0 && b.d == 0 {
		return b, errors.New("iterations and duration are both 0: set one of them")
	}
	return b, nil
}
