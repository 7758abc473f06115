// Package ingress holds the ways of passing tasks to an event loop that the lab compares.
// Each has its own file and registers itself.
//
// Most are queues under the same loop (loop.go): a goroutine that drains the
// queue, runs the tasks, and sleeps when there are none. They differ in what
// seed document 004 says makes the difference: a mutex or atomics, chunks or
// nodes, a task arena or none, how much is cleared, padding, and who wakes the
// loop. They include the document's two loops as it describes them, but
// lossless: its task arena overwrites tasks that have not run, the one here
// continues in another segment. A channel and the loop of package eventloop
// bring their own loops.
//
// One test holds all of them to the same promise: every task runs once, and a producer's
// tasks run in the order of submission. A strategy that is no longer a real alternative is
// deleted: its results stay in the store, its code in the git history.
package ingress

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Task is what a loop runs.
type Task = func()

// A Loop runs on its own goroutine from New to Close.
type Loop interface {
	// Submit hands t to the loop. Producers are numbered from 0; each number
	// belongs to one goroutine at a time. A bounded strategy waits for room.
	Submit(producer int, t Task)
	// SubmitBatch submits ts in order and does not keep it.
	SubmitBatch(producer int, ts []Task)
	// Close runs the remaining tasks and ends the loop. No producer may be in
	// Submit or call it again.
	Close() error
}

// Config says how to build a strategy.
type Config struct {
	Producers int // 1 or more
	// Switches configure the strategy ablation, by name; a missing one is off. Other
	// strategies have no switches.
	Switches map[string]bool
}

// A starter starts a loop. The error is errors.ErrUnsupported if the platform lacks what
// the strategy needs.
type starter func(Config) (Loop, error)

var registry = map[string]starter{}

// Register adds a strategy; init functions call it. It panics if the name is
// taken.
func Register(name string, build starter) {
	if registry[name] != nil {
		panic("ingress: Register: " + name + " is registered twice")
	}
	registry[name] = build
}

// Names returns the names of all strategies, sorted.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }

// New starts a loop with the named strategy.
func New(name string, config Config) (Loop, error) {
	build := registry[name]
	if build == nil {
		return nil, fmt.Errorf("ingress: New: unknown strategy %q; there are: %s", name,
			strings.Join(Names(), ", "))
	}
	l, err := build(config)
	if err != nil {
		return nil, fmt.Errorf("ingress: New: %s: %w", name, err)
	}
	return l, nil
}
