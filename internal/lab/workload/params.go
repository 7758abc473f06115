package workload

import (
	"errors"
	"math"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

const (
	maxWorkers = 10_000
	// MaxDuration bounds duration parameters.
	MaxDuration = 30 * 24 * time.Hour
)

// Budgeted is the frame of a closed task, which embeds it: the budget that its
// parameters iterations and duration set, one worker, and nothing to close.
type Budgeted struct {
	ops int64
	d   time.Duration
}

// Budget implements Closed.
func (b Budgeted) Budget() (ops int64, d time.Duration) { return b.ops, b.d }

// Workers implements Closed.
func (Budgeted) Workers() int { return 1 }

// Close implements Task.
func (Budgeted) Close() error { return nil }

// WithBudget appends the two budget parameters, with their defaults. They fill in
// Env.Budget.
func WithBudget(iterations, duration string, params ...Param) []Param {
	return append(params,
		Int("iterations", iterations, "operations over all goroutines; 0: as many as the duration allows", 0, math.MaxInt),
		Duration("duration", duration, "longest time; 0: as long as the iterations take", 0, MaxDuration))
}

// newBudget reads the two parameters; at least one must not be 0.
func newBudget(p Params) (Budgeted, error) {
	b := Budgeted{ops: int64(p.Int("iterations")), d: p.Duration("duration")}
	if b.ops == 0 && b.d == 0 {
		return b, errors.New("iterations and duration are both 0: set one of them")
	}
	return b, nil
}

// Int declares an integer from lo to hi.
func Int(name, value, help string, lo, hi int) Param {
	return Param{Name: name, Default: value, Help: help,
		Check: within(parseInt, lo, hi, "want a whole number from %d to %d", lo, hi)}
}

// Float declares a number from lo to hi.
func Float(name, value, help string, lo, hi float64) Param {
	return Param{Name: name, Default: value, Help: help, Check: FloatRange(lo, hi)}
}

// Bytes declares a size from lo to hi.
func Bytes(name, value, help string, lo, hi int64) Param {
	return Param{Name: name, Default: value, Help: help, Check: within(cell.ParseBytes, lo, hi,
		"want a size from %s to %s, such as 1024 or 64KiB", cell.FormatBytes(lo), cell.FormatBytes(hi))}
}

// Duration declares a duration from lo to hi.
func Duration(name, value, help string, lo, hi time.Duration) Param {
	return Param{Name: name, Default: value, Help: help, Check: DurationRange(lo, hi)}
}

// Switch declares a parameter that is on or off.
func Switch(name, value, help string) Param {
	return Param{Name: name, Default: value, Help: help, Check: func(s string) error {
		_, err := parseBool(s)
		return err
	}}
}

// Choice declares one of some words.
func Choice(name, value, help string, words ...string) Param {
	return Param{Name: name, Default: value, Help: help, Check: OneOf(words...)}
}
