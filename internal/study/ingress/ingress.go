// Package ingress holds the ways of handing tasks to an event loop that the lab
// compares. Each has a file of its own and registers itself.
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
// One test holds all of them to the same promise: every task runs once, and a
// producer's tasks run in the order of submission. A strategy that is no longer
// a real alternative is deleted: its results stay in the store, its code in the
// history.
package ingress

import (
	"fmt"
	"sort"
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
	// Sleeps returns how often the loop found nothing to do and slept; -1 if
	// unknown.
	Sleeps() int64
	// Close runs the remaining tasks and ends the loop. No producer may be in
	// Submit or call it again.
	Close() error
}

// Config says how to build a strategy.
type Config struct {
	Producers int
	// Switches are those of the strategy ablation, by name; a missing one is off.
	// No other strategy has switches.
	Switches map[string]bool
}

// A Kind is one registered strategy.
type Kind struct {
	Name    string
	Summary string // one line
	// New starts the loop. The error is errors.ErrUnsupported if the platform
	// cannot support the strategy.
	New func(Config) (Loop, error)
}

var registry = map[string]*Kind{}

// Register adds a strategy; init functions call it. It panics if the name is
// taken.
func Register(k *Kind) {
	if registry[k.Name] != nil {
		panic("ingress: Register: " + k.Name + " is registered twice")
	}
	registry[k.Name] = k
}

// All returns the registered strategies by name.
func All() []*Kind {
	all := make([]*Kind, 0, len(registry))
	for _, k := range registry {
		all = append(all, k)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// New starts a loop with the named strategy.
func New(name string, config Config) (Loop, error) {
	k := registry[name]
	if k == nil {
		names := make([]string, 0, len(registry))
		for _, k := range All() {
			names = append(names, k.Name)
		}
		return nil, fmt.Errorf("ingress: New: unknown strategy %q; there are: %s", name, strings.Join(names, ", "))
	}
	if config.Producers < 1 {
		return nil, fmt.Errorf("ingress: New: %s: %d producers; want 1 or more", name, config.Producers)
	}
	if len(config.Switches) > 0 && name != ablation {
		return nil, fmt.Errorf("ingress: New: %s has no switches; give them to %s only", name, ablation)
	}
	l, err := k.New(config)
	if err != nil {
		return nil, fmt.Errorf("ingress: New: %s: %w", name, err)
	}
	return l, nil
}
