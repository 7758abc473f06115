// Package attach tunes a running server under its load, so that state that took
// hours to build can be tuned.
//
// A [Server] changes the settings of the process: through the handler of
// gcctl/gcctlhttp ([Remote]), or by a command that restarts it ([Restarted]).
// [Run] alternates between today's settings and others, in blocks shuffled within
// rounds. It compares CPU time per unit of work and memory with today's, paired by
// round. The first rounds choose; fresh rounds of the chosen settings and today's
// prove. At the end Run restores the original setting, whatever happens.
//
// The load must run by itself. A unit of work is what the handler counts, otherwise
// an allocated GiB, which settings hardly change, otherwise a second.
package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/tune"
)

// A State is a snapshot of the server. Counters only grow; unknown figures are 0.
type State struct {
	At    time.Time `json:"-"`
	GC    cell.GC   `json:"gc"`    // in force
	Found cell.GC   `json:"found"` // in force before the first Apply
	PID   int       `json:"pid"`

	LiveBytes     int64 `json:"live_bytes"`
	HeapBytes     int64 `json:"heap_bytes"`
	MappedBytes   int64 `json:"mapped_bytes"`
	ResidentBytes int64 `json:"resident_bytes"`
	FreeBytes     int64 `json:"free_bytes,omitempty"`  // of ResidentBytes, kept for future objects
	GroupBytes    int64 `json:"group_bytes,omitempty"` // the memory that its control group allows

	Cycles         int64   `json:"cycles"`
	AllocatedBytes int64   `json:"allocated_bytes"`
	GCCPU          float64 `json:"gc_cpu_seconds"`
	CPU            float64 `json:"cpu_seconds"`
	Work           float64 `json:"work"` // in the server's own units
}

// A Server is a running process.
type Server interface {
	Look(ctx context.Context) (State, error)
	// Apply puts a setting into force. If the server can, it returns to Found by itself after
	// hold. The error wraps ErrRefused if the server refuses the setting.
	Apply(ctx context.Context, gc cell.GC, hold time.Duration) error
	Restore(ctx context.Context) error
	// Settle is the least and the most time to wait before a setting can be measured. In between,
	// it is ready after two collections.
	Settle() (least, most time.Duration)
}

// ErrRefused says that the server refuses a setting, such as a limit below what it uses.
var ErrRefused = errors.New("refused")

// A Config says what to try. Only Server is required.
type Config struct {
	Server    Server
	Settings  []cell.GC     // besides today's; nil for those of Candidates
	MaxBytes  float64       // of resident memory, see most; 0 for twice today's
	Budget    time.Duration // for all blocks; 0 for 3 minutes plus the least time to settle
	Rounds    int           // of the proof, at least 4; 0 for 6
	Tolerance float64       // share of CPU time that saving memory may cost; 0 for 0.02
	Seed      uint64
	Log       func(text string) // receives a line per block; nil for none
	// Keep returns the record of the next block: the result of measure, or what an
	// interrupted run stored. nil keeps nothing. The first record, of round 0, is the
	// state of the server before anything was set.
	Keep func(c cell.Config, round int, measure func() (*cell.Record, error)) (*cell.Record, error)
}

// exploring is the number of rounds that choose what to prove.
const exploring = 3

// usualBudget is the default time of all blocks, without settling.
const usualBudget = 3 * time.Minute

// hold is how long a setting stays in force unless it is set again: the time that it
// outlives tune if tune is killed.
const hold = 30 * time.Second

// leastBlock is the shortest block worth measuring.
const leastBlock = 500 * time.Millisecond

// overrun is how many times longer than planned blocks may take before Log says so.
const overrun = 1.5

// An Answer is the result of Run.
type Answer struct {
	tune.Answer
	Unit     string  `json:"unit"`      // what CPU time is counted per
	Today    State   `json:"today"`     // before any change
	MaxBytes float64 `json:"max_bytes"` // that Fastest may take
	Arms     []Arm   `json:"arms"`      // all that ran
}

// An Arm is a setting and its blocks.
type Arm struct {
	GC      cell.GC   `json:"gc"`
	CPU     []float64 `json:"cpu_seconds"`      // per unit of work, by block
	Bytes   []float64 `json:"bytes"`            // largest memory in use, by block
	Most    float64   `json:"most_bytes"`       // most resident memory in any block
	Cycles  []float64 `json:"cycles,omitempty"` // by block; nil if unknown
	Refused string    `json:"refused,omitempty"`
}

// Run tunes the server and leaves it as it was.
func Run(ctx context.Context, c Config) (answer *Answer, err error) {
	c.fill()
	today, err := c.Server.Look(ctx)
	if err != nil {
		return nil, err
	}
	t := &tuning{Config: c, answer: &Answer{}, rng: rand.New(rand.NewPCG(c.Seed, 0))}
	defer func() {
		if left := t.restore(ctx, today.Found); left != nil {
			if ctx.Err() != nil { // the failed restore matters more than the interruption
				err = nil
			}
			err = errors.Join(err, left)
		}
	}()
	rec, err := t.Keep(config(today.Found), 0, func() (*cell.Record, error) { return today.record(), nil })
	if err != nil {
		return nil, err
	}
	today.restore(rec)
	t.answer.Today = today
	t.MaxBytes = today.most(t.MaxBytes)
	settings := c.Settings
	if settings == nil {
		settings = Candidates(today, t.MaxBytes)
	}
	t.answer.MaxBytes = t.MaxBytes
	t.arms = []*Arm{{GC: today.Found}}
	for _, gc := range settings {
		if group := today.GroupBytes; group > 0 && float64(gc.LimitBytes) > groupShare*float64(group) {
			return nil, fmt.Errorf("tune: --gogc %s: the server's control group allows %d MiB, and a limit above 90 %% of that "+
				"has it killed", gc, group/mib)
		}
		gc.Name = ""
		if !slices.ContainsFunc(t.arms, func(a *Arm) bool { return same(a.GC, gc) }) {
			t.arms = append(t.arms, &Arm{GC: gc})
		}
	}
	if len(t.arms) == 1 {
		return nil, fmt.Errorf("tune: --attach: there is nothing to compare GOGC=%s with: every limit within %d MiB leaves "+
			"hardly any room above what is live: allow more with --max-rss, or name settings with --gogc", today.Found,
			int64(t.MaxBytes)/mib)
	}
	t.blocks = exploring*len(t.arms) + t.Rounds*(1+min(len(t.arms)-1, 3))
	blocks := time.Duration(t.blocks)
	least, _ := c.Server.Settle()
	t.block = cmp.Or(t.Budget, usualBudget+blocks*least) / blocks
	if t.block < leastBlock+least {
		return nil, fmt.Errorf("tune: --attach: %v for %d blocks of %d settings leaves %v each, of which settling takes %v: "+
			"give a --budget of %v or more, fewer settings with --gogc, or fewer --rounds", t.Budget, t.blocks, len(t.arms),
			t.block.Round(time.Millisecond), least, blocks*(leastBlock+least))
	}
	if err := t.rounds(ctx, t.arms, exploring); err != nil {
		return nil, err
	}
	if others := t.arms[1:]; !slices.ContainsFunc(others, func(a *Arm) bool { return a.Refused == "" }) {
		return nil, fmt.Errorf("tune: --attach: no setting can be tried: GOGC=%s was %s", others[0].GC, others[0].Refused)
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

// restore puts the original setting into force, even if ctx has ended: otherwise the
// last setting would stay.
func (t *tuning) restore(ctx context.Context, found cell.GC) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err := t.Server.Restore(ctx)
	if err != nil {
		return fmt.Errorf("tune: --attach: GOGC=%s could not be restored: %w", found, err)
	}
	now, err := t.Server.Look(ctx)
	switch {
	case err != nil:
		return err
	case !same(now.GC, found):
		return fmt.Errorf("tune: --attach: GOGC=%s is in force, and not today's %s", now.GC, found)
	}
	if !t.applied.IsZero() {
		t.Log(fmt.Sprintf("GOGC=%s is in force again, in process %d", found, now.PID))
	}
	return nil
}

func (c *Config) fill() {
	c.Rounds = cmp.Or(c.Rounds, 6)
	c.Tolerance = cmp.Or(c.Tolerance, 0.02)
	if c.Log == nil {
		c.Log = func(string) {}
	}
	if c.Keep == nil {
		c.Keep = func(_ cell.Config, _ int, measure func() (*cell.Record, error)) (*cell.Record, error) {
			return measure()
		}
	}
}

const mib = 1 << 20

// groupShare is the share of its control group's memory that a server may take.
const groupShare = 0.9

// most is how much memory the server may take; asked is the user's bound, or 0 for twice today's,
// but no more than today's GOMEMLIMIT allows. It never exceeds what the control group allows.
func (s *State) most(asked float64) float64 {
	most := cmp.Or(asked, 2*float64(s.ResidentBytes))
	if limit := s.Found.LimitBytes; limit > 0 && asked == 0 {
		most = min(most, float64(limit+s.beside()))
	}
	if s.GroupBytes > 0 {
		most = min(most, groupShare*float64(s.GroupBytes))
	}
	return most
}

// beside is the resident memory that does not count to a limit: a limit counts what the runtime maps.
func (s *State) beside() int64 {
	if s.MappedBytes == 0 {
		return s.ResidentBytes / 10
	}
	return max(s.ResidentBytes-s.MappedBytes, s.ResidentBytes/50)
}

// Candidates returns settings worth trying on a server in this state. A GOMEMLIMIT keeps each
// within maxBytes of resident memory: more room for the collector up to the bound, the same
// memory without GOGC, and less room.
func Candidates(s State, maxBytes float64) []cell.GC {
	limit := func(bytes float64) int64 { return (int64(bytes) - s.beside()) / mib * mib }
	most := limit(maxBytes)
	same := min(limit(float64(s.ResidentBytes)), most)
	percent, live := s.Found.Percent, s.LiveBytes
	if percent < 0 {
		percent = cell.DefaultGC.Percent
	} else if live == 0 && s.Found.LimitBytes == 0 { // the most that GOGC may leave live
		live = s.ResidentBytes * 100 / int64(100+percent)
	}
	all := []cell.GC{
		{Percent: -1, LimitBytes: most}, {Percent: -1, LimitBytes: same},
		{Percent: 2 * percent, LimitBytes: most}, {Percent: 4 * percent, LimitBytes: most},
		{Percent: max(percent/2, 10), LimitBytes: same},
	}
	// A limit near live data is a slow death.
	room := live + live/4 + max(s.MappedBytes-s.HeapBytes, 0)/2
	return slices.DeleteFunc(all, func(gc cell.GC) bool { return gc.LimitBytes <= max(room, 0) })
}

type tuning struct {
	Config
	answer *Answer
	arms   []*Arm
	block  time.Duration
	blocks int // at most
	round  int
	rng    *rand.Rand

	applied time.Time // when the setting of the block was last put into force
}

// rounds measures each arm once per round, in random order.
func (t *tuning) rounds(ctx context.Context, arms []*Arm, n int) error {
	for range n {
		t.round++
		for _, i := range t.rng.Perm(len(arms)) {
			a := arms[i]
			if a.Refused != "" {
				continue
			}
			rec, err := t.Keep(config(a.GC), t.round, func() (*cell.Record, error) {
				rec, err := t.measure(ctx, a.GC)
				if errors.Is(err, ErrRefused) && i > 0 {
					return &cell.Record{Err: &cell.Failure{Kind: cell.FailWorkload, Message: strings.TrimPrefix(err.Error(),
						"tune: --attach: ")}}, nil
				}
				return rec, err
			})
			switch {
			case err != nil:
				return err
			case rec.Err != nil:
				a.Refused = rec.Err.Message
				t.Log(fmt.Sprintf("GOGC=%s: %s", a.GC, a.Refused))
			default:
				t.add(a, rec)
			}
		}
		if n := len(arms); t.round == 1 && t.answer.Seconds > overrun*t.block.Seconds()*float64(n) {
			each := t.answer.Seconds / float64(t.answer.Runs)
			t.Log(fmt.Sprintf("a block takes %.1f s, and not %.1f, as restarts or whole collections last that long: all %d "+
				"may take %v; Ctrl-C ends it, and restores today's setting", each, t.block.Seconds(), t.blocks,
				time.Duration(each*float64(t.blocks)*float64(time.Second)).Round(time.Second)))
		}
	}
	return nil
}

// add records the result of a block.
func (t *tuning) add(a *Arm, rec *cell.Record) {
	for _, u := range units {
		if rec.Metrics[u.metric] > 0 {
			t.answer.Unit = u.name
		}
	}
	a.CPU = append(a.CPU, rec.Metrics[cell.TotalCPU])
	a.Bytes = append(a.Bytes, cmp.Or(rec.Metrics[usedMetric], rec.Metrics[cell.RSSPeak]))
	a.Most = max(a.Most, rec.Metrics[cell.RSSPeak])
	if cycles, known := rec.Metrics[cell.GCCycles]; known {
		a.Cycles = append(a.Cycles, cycles)
	}
	t.answer.Runs++
	t.answer.Seconds += rec.Metrics[cell.RunTime]
	t.Log(fmt.Sprintf("block %d: GOGC=%s: %.3g s of CPU per %s, %d MiB", t.answer.Runs, a.GC,
		rec.Metrics[cell.TotalCPU], t.answer.Unit, int64(rec.Metrics[usedMetric])/mib))
}

// measure applies a setting, lets it settle and measures for the rest of the block.
func (t *tuning) measure(ctx context.Context, gc cell.GC) (*cell.Record, error) {
	began := time.Now()
	if err := t.apply(ctx, gc); err != nil {
		return nil, err
	}
	least, most := t.Server.Settle()
	first, err := t.Server.Look(ctx)
	if err != nil {
		return nil, err
	}
	step := min(max(t.block/40, 20*time.Millisecond), hold/6)
	from := first
	for settled := time.Now(); ; {
		took := time.Since(settled)
		if took >= least && (from.Cycles >= first.Cycles+2 || took >= min(most, t.block/3)) {
			break
		}
		if from, err = t.wait(ctx, gc, step); err != nil {
			return nil, err
		}
	}
	w := window{from: from, last: from, whole: from.Cycles >= first.Cycles+2}
	end := time.Now().Add(max(t.block-time.Since(began), leastBlock))
	// Count looks as well: while the whole machine stands still, time passes without any work.
	for more := t.block / step; time.Now().Before(end) || !w.complete() && more > 0; {
		if !time.Now().Before(end) {
			more--
		}
		s, err := t.wait(ctx, gc, step)
		if err != nil {
			return nil, err
		}
		w.see(s)
	}
	switch {
	case w.last.PID != from.PID:
		return nil, fmt.Errorf("tune: --attach: the server was restarted in a block: process %d, then %d", from.PID,
			w.last.PID)
	case w.last.GC.Percent != gc.Percent: // the handler may hold the limit lower
		return nil, fmt.Errorf("tune: --attach: GOGC is %s in a block of %s: somebody else sets it", w.last.GC, gc)
	}
	from, to := w.span()
	u := t.unit(to)
	work := u.of(from, to)
	if work <= 0 || to.CPU <= from.CPU {
		return nil, errors.New("tune: --attach: the server did nothing in a block: tune it under its load")
	}
	rec := &cell.Record{}
	rec.Set(cell.TotalCPU, (to.CPU-from.CPU)/work)
	rec.Set(cell.RSSPeak, float64(w.resident))
	rec.Set(usedMetric, float64(w.used))
	rec.Set(cell.RunTime, time.Since(began).Seconds())
	rec.Set(u.metric, work)
	if to.Cycles > 0 {
		rec.Set(cell.GCCycles, float64(to.Cycles-from.Cycles))
	}
	return rec, nil
}

// A window is what a block measures. If two collections end in it, it runs from the end of one to
// the end of another, so that a setting pays for whole collections.
type window struct {
	from, to, last State
	whole          bool  // from is just after a collection
	used, resident int64 // maximum, in bytes
}

func (w *window) see(s State) {
	w.used, w.resident = max(w.used, s.ResidentBytes-s.FreeBytes), max(w.resident, s.ResidentBytes)
	if s.Cycles > w.last.Cycles {
		if w.to = s; !w.whole {
			w.from, w.whole = s, true
		}
	}
	w.last = s
}

// complete reports whether the window contains a whole collection, or if collections are unknown, some CPU time.
func (w *window) complete() bool {
	if w.last.Cycles == 0 {
		return w.last.CPU > w.from.CPU
	}
	return w.whole && w.to.Cycles > w.from.Cycles
}

func (w *window) span() (from, to State) {
	if w.last.Cycles == 0 || !w.complete() {
		return w.from, w.last
	}
	return w.from, w.to
}

// apply puts a setting into force for the time hold.
func (t *tuning) apply(ctx context.Context, gc cell.GC) error {
	t.applied = time.Now()
	return t.Server.Apply(ctx, gc, hold)
}

// wait looks at the server after d, and keeps the setting in force until then.
func (t *tuning) wait(ctx context.Context, gc cell.GC, d time.Duration) (State, error) {
	select {
	case <-ctx.Done():
		return State{}, context.Cause(ctx)
	case <-time.After(d):
	}
	if time.Since(t.applied) > hold/2 {
		if err := t.apply(ctx, gc); err != nil {
			return State{}, err
		}
	}
	return t.Server.Look(ctx)
}

// usedMetric is resident memory without what the runtime keeps free: an earlier setting
// determines how much that is, for a while or for good.
const usedMetric = "/attach/used:bytes"

// A unit is a measure of work that CPU time is divided by.
type unit struct {
	metric, name string
	of           func(from, to State) float64
}

// units are in order of preference; time always passes.
var units = []unit{
	{"/attach/work:units", "unit of work", func(a, b State) float64 { return b.Work - a.Work }},
	{"/attach/allocated:gib", "GiB allocated",
		func(a, b State) float64 { return float64(b.AllocatedBytes-a.AllocatedBytes) / (1 << 30) }},
	{"/attach/measured:seconds", "second", func(a, b State) float64 { return b.At.Sub(a.At).Seconds() }},
}

// unit returns the unit of earlier blocks, or the best that the server has ever counted. A block
// that counts none of it had no load.
func (t *tuning) unit(now State) unit {
	for _, u := range units {
		if t.answer.Unit == u.name || t.answer.Unit == "" && u.of(State{}, now) > 0 {
			return u
		}
	}
	return units[len(units)-1]
}

// memory returns the figures of a State from which candidates are derived, by metric.
func (s *State) memory() map[string]*int64 {
	return map[string]*int64{"/attach/live:bytes": &s.LiveBytes, "/attach/heap:bytes": &s.HeapBytes,
		"/attach/mapped:bytes": &s.MappedBytes, "/attach/resident:bytes": &s.ResidentBytes}
}

func (s *State) record() *cell.Record {
	rec := &cell.Record{}
	for metric, at := range s.memory() {
		rec.Set(metric, float64(*at))
	}
	return rec
}

// restore replaces today's memory by that of a record: it differs if a run is resumed.
func (s *State) restore(rec *cell.Record) {
	for metric, at := range s.memory() {
		*at = int64(rec.Metrics[metric])
	}
}

// config returns a setting of the server in the form of the store.
func config(gc cell.GC) cell.Config { return cell.Config{Workload: "attach", GC: gc} }

// groupOf makes a stat.Group of the blocks of an arm.
func groupOf(a *Arm) *stat.Group {
	g := &stat.Group{Key: a.GC.String(), Config: config(a.GC),
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
