// Package attach tunes a server that is already running under its load, so that
// state that took hours to build can be tuned.
//
// A [Server] changes the settings of the running process: by the handler of
// gcctl/gcctlhttp ([Remote]), or by a command that restarts it ([Restarted]).
// [Run] sets today's settings and others by turns, in blocks shuffled within
// rounds, and compares the CPU time per unit of work and the memory of a block
// with today's, paired by round. Some rounds choose; fresh ones, of what was
// chosen and today's alone, prove. Whatever happens, what was set before is set
// again at the end.
//
// The load must go on by itself. A unit of work is what the handler counts, else
// an allocated GiB, which the settings hardly change, else a second.
package attach

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/tune"
)

// A State is one look at the server. Counters only grow; what is not known is 0.
type State struct {
	At    time.Time `json:"-"`
	GC    cell.GC   `json:"gc"`    // in force
	Found cell.GC   `json:"found"` // in force before the first Apply
	PID   int       `json:"pid"`

	LiveBytes     int64 `json:"live_bytes"`
	HeapBytes     int64 `json:"heap_bytes"`
	MappedBytes   int64 `json:"mapped_bytes"`
	ResidentBytes int64 `json:"resident_bytes"`

	Cycles         int64   `json:"cycles"`
	AllocatedBytes int64   `json:"allocated_bytes"`
	GCCPU          float64 `json:"gc_cpu_seconds"`
	CPU            float64 `json:"cpu_seconds"`
	Work           float64 `json:"work"` // in units of the server's own
}

// A Server is a running process.
type Server interface {
	Look(ctx context.Context) (State, error)
	// Apply puts a setting into force. Where it can, it has the server return to
	// Found by itself when hold is over. A setting that the server refuses is an
	// error that wraps ErrRefused.
	Apply(ctx context.Context, gc cell.GC, hold time.Duration) error
	Restore(ctx context.Context) error
	// Settle is how long a setting needs before it can be measured, at least and
	// at most; in between it is ready after two collections.
	Settle() (least, most time.Duration)
}

// ErrRefused says that the server does not take a setting, such as a limit below
// what it uses.
var ErrRefused = errors.New("refused")

// A Config says what to try. The zero value is usable but for Server.
type Config struct {
	Server    Server
	Settings  []cell.GC     // besides today's; nil for those of Candidates
	MaxBytes  float64       // of resident memory; 0 for twice today's
	Budget    time.Duration // for all blocks; 0 for 3 minutes
	Rounds    int           // of the proof, 4 or more; 0 for 6
	Tolerance float64       // share of CPU time that saving memory may cost; 0 for 0.02
	Seed      uint64
	Log       func(text string) // receives a line a block; nil for none
}

// exploring is how many rounds choose what to prove.
const exploring = 3

// leastBlock is the shortest block worth measuring.
const leastBlock = 500 * time.Millisecond

// An Answer is what was found.
type Answer struct {
	tune.Answer
	Unit     string  `json:"unit"`      // what CPU time is counted per
	Today    State   `json:"today"`     // before anything was set
	MaxBytes float64 `json:"max_bytes"` // that Fastest may take
	Arms     []Arm   `json:"arms"`      // all that was tried
}

// An Arm is a setting and its blocks.
type Arm struct {
	GC      cell.GC   `json:"gc"`
	CPU     []float64 `json:"cpu_seconds"` // per unit of work, by block
	Bytes   []float64 `json:"bytes"`       // most resident memory, by block
	Refused string    `json:"refused,omitempty"`
}

// Run tunes the server and leaves it as it was.
func Run(ctx context.Context, c Config) (answer *Answer, err error) {
	c.fill()
	today, err := c.Server.Look(ctx)
	if err != nil {
		return nil, err
	}
	t := &tuning{Config: c, answer: &Answer{Today: today}, rng: rand.New(rand.NewPCG(c.Seed, 0))}
	defer func() {
		// Also where ctx has ended: what is left behind would stay.
		restoring, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if left := c.Server.Restore(restoring); left != nil {
			err = errors.Join(err, fmt.Errorf("tune: --attach: GOGC=%s could not be set again: %w", today.Found, left))
		}
	}()
	if t.MaxBytes == 0 {
		t.MaxBytes = 2 * float64(today.ResidentBytes)
	}
	settings := c.Settings
	if settings == nil {
		settings = Candidates(today, t.MaxBytes)
	}
	t.answer.MaxBytes = t.MaxBytes
	t.arms = []*Arm{{GC: today.Found}}
	for _, gc := range settings {
		if !same(gc, today.Found) {
			t.arms = append(t.arms, &Arm{GC: gc})
		}
	}
	chosenMost := 1 + min(len(t.arms)-1, 3)
	t.block = t.Budget / time.Duration(exploring*len(t.arms)+t.Rounds*chosenMost)
	if least, _ := c.Server.Settle(); t.block < leastBlock+least {
		return nil, fmt.Errorf("tune: --attach: %v for %d settings leaves %v a block: give a larger --budget or fewer --gogc",
			t.Budget, len(t.arms), t.block.Round(time.Millisecond))
	}
	if err := t.rounds(ctx, t.arms, exploring); err != nil {
		return nil, err
	}
	chosen := t.choose()
	fresh := []*Arm{{GC: today.Found}}
	for _, a := range chosen {
		fresh = append(fresh, &Arm{GC: a.GC})
	}
	if len(chosen) > 0 {
		if err := t.rounds(ctx, fresh, t.Rounds); err != nil {
			return nil, err
		}
	}
	for _, a := range t.arms {
		t.answer.Arms = append(t.answer.Arms, *a)
	}
	t.conclude(fresh)
	return t.answer, nil
}

func (c *Config) fill() {
	if c.Budget == 0 {
		c.Budget = 3 * time.Minute
	}
	if c.Rounds == 0 {
		c.Rounds = 6
	}
	if c.Tolerance == 0 {
		c.Tolerance = 0.02
	}
	if c.Log == nil {
		c.Log = func(string) {}
	}
}

const mib = 1 << 20

// Candidates are settings worth trying on a server in this state, each within
// maxBytes of resident memory by a GOMEMLIMIT: more room for the collector up to
// the bound, the same memory without GOGC, and less room.
func Candidates(s State, maxBytes float64) []cell.GC {
	// The limit counts what the runtime maps; the rest of the process lies beside it.
	beside := max(s.ResidentBytes-s.MappedBytes, s.ResidentBytes/50)
	if s.MappedBytes == 0 {
		beside = s.ResidentBytes / 10
	}
	limit := func(bytes float64) int64 { return (int64(bytes) - beside) / mib * mib }
	most, same := limit(maxBytes), limit(float64(s.ResidentBytes))
	percent := s.Found.Percent
	if percent < 0 {
		percent = cell.DefaultGC.Percent
	}
	all := []cell.GC{
		{Percent: -1, LimitBytes: most}, {Percent: -1, LimitBytes: same},
		{Percent: 2 * percent, LimitBytes: most}, {Percent: 4 * percent, LimitBytes: most},
		{Percent: max(percent/2, 10), LimitBytes: same},
	}
	// A limit near what is live is a slow death.
	room := s.LiveBytes + s.LiveBytes/4 + max(s.MappedBytes-s.HeapBytes, 0)/2
	return slices.DeleteFunc(all, func(gc cell.GC) bool { return gc.LimitBytes <= max(room, 0) })
}

type tuning struct {
	Config
	answer *Answer
	arms   []*Arm
	block  time.Duration
	done   int
	rng    *rand.Rand
	unit   func(a, b State) float64
}

// rounds measures each arm once a round, in an order drawn anew.
func (t *tuning) rounds(ctx context.Context, arms []*Arm, n int) error {
	for range n {
		for _, i := range t.rng.Perm(len(arms)) {
			a := arms[i]
			if a.Refused != "" {
				continue
			}
			err := t.measure(ctx, a)
			switch {
			case errors.Is(err, ErrRefused) && i > 0:
				a.Refused = err.Error()
				t.Log(fmt.Sprintf("GOGC=%s: %v", a.GC, err))
			case err != nil:
				return err
			}
		}
	}
	return nil
}

// measure sets the arm's setting, lets it settle and measures for the rest of the
// block.
func (t *tuning) measure(ctx context.Context, a *Arm) error {
	began := time.Now()
	if err := t.Server.Apply(ctx, a.GC, 3*t.block+30*time.Second); err != nil {
		return err
	}
	least, most := t.Server.Settle()
	first, err := t.Server.Look(ctx)
	if err != nil {
		return err
	}
	step := max(t.block/40, 20*time.Millisecond)
	from := first
	for settled := time.Now(); ; {
		took := time.Since(settled)
		if took >= least && (from.Cycles >= first.Cycles+2 || took >= min(most, t.block/3)) {
			break
		}
		if from, err = t.wait(ctx, step); err != nil {
			return err
		}
	}
	to, peak := from, from.ResidentBytes
	for end := time.Now().Add(max(t.block-time.Since(began), leastBlock)); time.Now().Before(end); {
		if to, err = t.wait(ctx, step); err != nil {
			return err
		}
		peak = max(peak, to.ResidentBytes)
	}
	switch {
	case to.PID != from.PID:
		return fmt.Errorf("tune: --attach: the server was restarted in a block: process %d, then %d", from.PID, to.PID)
	case to.GC.Percent != a.GC.Percent: // the handler may hold the limit lower
		return fmt.Errorf("tune: --attach: GOGC is %s in a block of %s: another hand sets it", to.GC, a.GC)
	}
	if t.unit == nil {
		t.chooseUnit(from, to)
	}
	work := t.unit(from, to)
	if work <= 0 || to.CPU <= from.CPU {
		return errors.New("tune: --attach: the server did nothing in a block: tune it under its load")
	}
	a.CPU = append(a.CPU, (to.CPU-from.CPU)/work)
	a.Bytes = append(a.Bytes, float64(peak))
	t.done++
	t.answer.Runs, t.answer.Seconds = t.done, t.answer.Seconds+time.Since(began).Seconds()
	t.Log(fmt.Sprintf("block %d: GOGC=%s: %.3g s of CPU per %s, %d MiB", t.done, a.GC, a.CPU[len(a.CPU)-1],
		t.answer.Unit, peak/mib))
	return nil
}

// wait looks again after a while.
func (t *tuning) wait(ctx context.Context, d time.Duration) (State, error) {
	select {
	case <-ctx.Done():
		return State{}, context.Cause(ctx)
	case <-time.After(d):
	}
	return t.Server.Look(ctx)
}

// chooseUnit takes the best unit of work that the server counts.
func (t *tuning) chooseUnit(from, to State) {
	switch {
	case to.Work > from.Work:
		t.answer.Unit, t.unit = "unit of work", func(a, b State) float64 { return b.Work - a.Work }
	case to.AllocatedBytes > from.AllocatedBytes:
		t.answer.Unit = "GiB allocated"
		t.unit = func(a, b State) float64 { return float64(b.AllocatedBytes-a.AllocatedBytes) / (1 << 30) }
	default:
		t.answer.Unit, t.unit = "second", func(a, b State) float64 { return b.At.Sub(a.At).Seconds() }
	}
}

// workload names the configurations of an answer.
const workload = "attach"

// groupOf makes a group of package stat of an arm's blocks.
func groupOf(a *Arm) *stat.Group {
	g := &stat.Group{Key: a.GC.String(), Config: cell.Config{Workload: workload, GC: a.GC},
		Series: map[string]stat.Series{}}
	for metric, values := range map[string][]float64{cell.TotalCPU: a.CPU, cell.RSSPeak: a.Bytes} {
		blocks := make([]int, len(values))
		for i := range blocks {
			blocks[i] = i
		}
		g.Series[metric] = stat.Series{Metric: metric, Blocks: blocks, Values: values}
	}
	return g
}
