// Package workload holds what the lab measures: one self-registering file per
// workload.
//
// A [Workload] declares its parameters and builds a task from them. The
// interface that the task implements says what kind it is: [Closed] for
// operations that follow each other as fast as they can, [Open] for operations
// that are due at given times, [Driven] for tasks that bring their own load,
// [Whole] for programs that run once from start to end. The harness (package
// runner) drives the task, reads the clocks and collects the figures; a
// workload only does the work. It runs in its own child process, so it may use
// globals and exit.
//
// Each file names the source of its workload and how this version differs.
package workload

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/latency"
)

// A Workload is one registered kind of work.
type Workload struct {
	Name    string
	Summary string // one line, for the list of workloads
	Params  []Param
	// New builds a task. It runs before the measured phase, so it allocates what must exist by
	// then. Register adds the workload's name to its errors.
	New func(Env) (Task, error)
	// Exhibit marks workloads that only restate a source document; they are listed
	// separately.
	Exhibit bool
	// NeedsCommand marks workloads that run a program given by the user.
	NeedsCommand bool
	// Cases, if set, splits a run into one study per case unless the flags name
	// cases.
	Cases *Cases
}

// Cases are the values of one parameter, each with its own levels of another
// parameter.
type Cases struct {
	Of, Over string // the two parameters
	All      []Case
}

// A Case is one value of the first parameter: its name and the levels of the
// second parameter, baseline first.
type Case struct {
	Value, Name string
	Levels      []string
}

// A Param is one parameter of a workload: a flag of the command line and a
// factor of the plan.
type Param struct {
	Name    string
	Default string
	Help    string
	// Check returns an error that says which values are valid. It may be nil for
	// free text.
	Check func(string) error
	// Path marks parameters that name a file.
	Path bool
	// Unless names the parameter that does without this one, which then has no default.
	Unless string
}

// Env is the input of New.
type Env struct {
	Params  Params
	Budget  Budgeted // for a workload with the parameters of WithBudget
	Command []string
	GC      cell.GC
	Unset   []string // see cell.Config
	Seed    uint64
	WarmUp  time.Duration // see cell.Cell
	// Join are the files to which the Command's process writes its PID before it
	// starts, to join its control group.
	Join []string
	// Strategy returns the workers of the named memory strategy for buffers of size bytes;
	// package strategy provides it. A worker obtains a buffer, calls work with it, gives the
	// buffer back in the strategy's way, and returns the result of work. The buffer's contents
	// are unspecified; work must not keep it.
	Strategy func(name string, size, workers int) ([]func(work func([]byte) uint64) uint64, error)
	// Beside runs a cell in another process and returns its record; a failed cell is an error.
	// Package runner provides it.
	Beside func(ctx context.Context, c cell.Cell) (cell.Record, error)
}

// A Task is work prepared for one cell. It implements exactly one of Closed,
// Open, Driven and Whole.
type Task interface {
	// Close releases the task's resources. The harness calls it once, after the
	// measured phase.
	Close() error
}

// Closed is a closed loop: each worker starts its next operation when the last
// one finishes.
type Closed interface {
	Task
	// Budget says how much to do: a number of operations over all workers, a time,
	// or both, whichever is reached first. 0 means no bound; at least one must be
	// set.
	Budget() (ops int64, d time.Duration)
	// Workers is the number of goroutines that call Loop, each with its own
	// number from 0.
	Workers() int
	// Loop performs n operations and returns a checksum; the harness adds these
	// up. It calls Loop with n = 1 to time single operations, and with larger n to
	// leave them undisturbed.
	Loop(worker int, n int64) uint64
}

// Open is an open loop: operations are due at times that do not depend on
// earlier ones.
type Open interface {
	Task
	// Next prepares the next operation and says when it is due, relative to the
	// start of the phase. Due times do not decrease. ok is false if there is none
	// left.
	Next() (due time.Duration, ok bool, err error)
	// Do performs the operation and returns a checksum.
	Do() uint64
}

// Driven is work that comes from outside the harness's goroutine: from another
// process, or from many goroutines at once.
type Driven interface {
	Task
	// Drive does the work. With an error, it returns what was done before.
	Drive(ctx context.Context) (Driving, error)
}

// A Driving is the result of driving a task.
type Driving struct {
	Due, Done         int64
	Elapsed           time.Duration
	Response, Service *latency.Histogram // nil if there are none
}

// Record stores the result in rec.
func (d Driving) Record(rec *cell.Record) {
	rec.Set(cell.Ops, float64(d.Done))
	rec.Set(cell.Scheduled, float64(d.Due))
	rec.Set(cell.Done, float64(d.Done))
	if d.Elapsed > 0 {
		rec.Set(cell.Throughput, float64(d.Done)/d.Elapsed.Seconds())
	}
	for name, h := range map[string]*latency.Histogram{cell.HistResponse: d.Response, cell.HistService: d.Service} {
		if h != nil {
			rec.SetLatency(name, h)
		}
	}
}

// Whole runs once and fills the record itself.
type Whole interface {
	Task
	// Run does the work. A *cell.Failure is recorded as it is; any other error
	// becomes a failure of kind FailWorkload.
	Run(ctx context.Context, rec *cell.Record) error
}

// Reporter is implemented by tasks that add figures after the measured phase.
type Reporter interface {
	Report(rec *cell.Record)
}

var registry = map[string]*Workload{}

// Register adds a workload; init functions call it. It panics if the name is
// taken.
func Register(w *Workload) {
	if registry[w.Name] != nil {
		panic("workload: Register: " + w.Name + " is registered twice")
	}
	w.New = w.build(w.New)
	registry[w.Name] = w
}

// build wraps newTask: it fills in the budget and adds the workload's name to errors.
func (w *Workload) build(newTask func(Env) (Task, error)) func(Env) (Task, error) {
	budgeted := slices.ContainsFunc(w.Params, func(p Param) bool { return p.Name == "iterations" })
	return func(env Env) (_ Task, err error) {
		if budgeted {
			env.Budget, err = newBudget(env.Params)
		}
		if err == nil {
			var task Task
			if task, err = newTask(env); err == nil {
				return task, nil
			}
		}
		if !strings.HasPrefix(err.Error(), "workload: ") { // errors of a workload that this one uses already have it
			err = fmt.Errorf("workload: %s: %w", w.Name, err)
		}
		return nil, err
	}
}

// All returns the registered workloads by name.
func All() []*Workload {
	return slices.SortedFunc(maps.Values(registry), func(a, b *Workload) int { return strings.Compare(a.Name, b.Name) })
}

// Lookup returns the named workload. The error for an unknown name gives the
// nearest name and the list.
func Lookup(name string) (*Workload, error) {
	if w := registry[name]; w != nil {
		return w, nil
	}
	names := slices.Sorted(maps.Keys(registry))
	return nil, fmt.Errorf("workload: unknown workload %q%s (there are: %s)", name, DidYouMean(name, names),
		strings.Join(names, ", "))
}

// Resolve fills in defaults and checks every parameter against w's
// declarations. An unknown parameter is an error.
func (w *Workload) Resolve(given map[string]string) (Params, error) {
	p := make(Params, len(w.Params))
	names := make([]string, 0, len(w.Params))
	for _, d := range w.Params {
		value, ok := given[d.Name]
		if !ok && given[d.Unless] != "" {
			continue
		}
		if !ok {
			value = d.Default
		}
		if d.Check != nil {
			if err := d.Check(value); err != nil {
				return nil, fmt.Errorf("workload: %s: --%s %q: %w", w.Name, d.Name, value, err)
			}
		}
		p[d.Name] = value
		names = append(names, d.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) { // the first of several, independent of the map's order
		if _, ok := p[name]; !ok {
			return nil, fmt.Errorf("workload: %s has no parameter %q%s (it has: %s)", w.Name, name, DidYouMean(name, names),
				strings.Join(names, ", "))
		}
	}
	return p, nil
}

// Params are resolved parameters in flag syntax. The typed accessors panic on a
// value that the parameter's Check should have refused, so call Resolve first.
type Params map[string]string

// parsed returns a parameter's value.
func parsed[T any](p Params, name string, parse func(string) (T, error)) T {
	v, err := parse(p.String(name))
	if err != nil {
		panic(fmt.Sprintf("workload: parameter %s: %v", name, err))
	}
	return v
}

// Int returns an integer parameter.
func (p Params) Int(name string) int { return parsed(p, name, parseInt) }

// Float returns a floating-point parameter.
func (p Params) Float(name string) float64 { return parsed(p, name, parseFloat) }

// Bool returns an on/off parameter.
func (p Params) Bool(name string) bool { return parsed(p, name, parseBool) }

// Duration returns a duration parameter.
func (p Params) Duration(name string) time.Duration { return parsed(p, name, time.ParseDuration) }

// Bytes returns a size parameter, such as 1024 or 64KiB.
func (p Params) Bytes(name string) int { return int(parsed(p, name, cell.ParseBytes)) }

// String returns a text parameter.
func (p Params) String(name string) string {
	s, ok := p[name]
	if !ok {
		panic("workload: parameter " + name + " is not declared")
	}
	return s
}

// Underscores may group the digits of an integer.
func parseInt(s string) (int, error) { return strconv.Atoi(strings.ReplaceAll(s, "_", "")) }

func parseFloat(s string) (float64, error) { return strconv.ParseFloat(s, 64) }

func parseBool(s string) (bool, error) {
	switch s {
	case "on", "true", "yes":
		return true, nil
	case "off", "false", "no":
		return false, nil
	}
	return false, fmt.Errorf("want on or off")
}

// within returns a check for a value from lo to hi.
func within[T cmp.Ordered](parse func(string) (T, error), lo, hi T, want string, args ...any) func(string) error {
	return func(s string) error {
		if v, err := parse(s); err != nil || !(v >= lo && v <= hi) {
			return fmt.Errorf(want, args...)
		}
		return nil
	}
}

// FloatRange returns a check for a number from lo to hi.
func FloatRange(lo, hi float64) func(string) error {
	return within(parseFloat, lo, hi, "want a number from %v to %v", lo, hi)
}

// DurationRange returns a check for a duration from lo to hi.
func DurationRange(lo, hi time.Duration) func(string) error {
	return within(time.ParseDuration, lo, hi, "want a duration from %v to %v, such as 500ms or 10s", lo, hi)
}

// OneOf returns a check for one of the given words.
func OneOf(words ...string) func(string) error {
	return func(s string) error {
		if slices.Contains(words, s) {
			return nil
		}
		return fmt.Errorf("want one of %s%s", strings.Join(words, ", "), DidYouMean(s, words))
	}
}

// or returns a check that accepts a word, and whatever else the given check accepts.
func or(word string, check func(string) error) func(string) error {
	return func(s string) error {
		if s == word {
			return nil
		}
		return check(s)
	}
}

// DidYouMean returns " (did you mean X?)" for the candidate nearest to s, "" if
// none is near.
func DidYouMean(s string, candidates []string) string {
	best, bestDistance := "", max(len(s)/2, 2)+1
	for _, c := range candidates {
		if d := editDistance(s, c); d < bestDistance && d < max(len(s), len(c)) {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// editDistance is the Levenshtein distance in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(diagonal+cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
