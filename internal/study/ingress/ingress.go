// Package ingress holds the ways to hand tasks to an event loop that the lab
// compares: one file each, which registers itself.
//
// Most are queues under one and the same loop (loop.go): a goroutine that
// drains the queue, runs what it got, and sleeps when there is nothing. They
// differ in what seed document 004 says makes the difference: a mutex or
// atomics, chunks or nodes, a task arena or not, how much is cleared, padding,
// and who wakes the loop. The document's two loops are among them, as it
// describes them, but lossless: where its task arena overwrites what has not
// run yet, the one here goes on in another segment. A channel and the loop of
// package eventloop bring their own.
//
// One test holds all of them to the same promise: every task runs once, and
// those of a producer in the order in which it submitted them. A strategy that stops
// being an alternative is deleted: its results stay in the store, its code in
// the history.
package ingress

import (
	"fmt"
	"sort"
	"strings"
)

// A Task is what a loop runs.
type Task = func()

// A Loop runs on a goroutine of its own from New to Close.
type Loop interface {
	// Submit hands t to the loop. The producers have numbers from 0; each
	// number belongs to one goroutine at a time. A bounded strategy waits
	// for room.
	Submit(producer int, t Task)
	// SubmitBatch submits ts in order and keeps none of it.
	SubmitBatch(producer int, ts []Task)
	// Sleeps returns how often the loop had nothing to do and slept; -1 where
	// that is not known.
	Sleeps() int64
	// Close runs what was submitted and ends the loop. No producer may be in
	// Submit, or come back to it.
	Close() error
}

// Config is what a strategy is built from.
type Config struct {
	Producers int
	// Switches are those of the strategy ablation, by name; a missing one is
	// off. No other strategy has any.
	Switches map[string]bool
}

// A Kind is one registered strategy.
type Kind struct {
	Name    string
	Summary string // one line
	// New starts the loop. The error is errors.ErrUnsupported where the
	// platform lacks what the strategy is made of.
	New func(Config) (Loop, error)
}

var registry = map[string]*Kind{}

// Register adds a strategy. It is called from init functions and panics if the
// name is taken.
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

// New starts a loop with the strategy of that name.
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
		return nil, fmt.Errorf("ingress: New: %s has no switches; they belong to %s", name, ablation)
	}
	l, err := k.New(config)
	if err != nil {
		return nil, fmt.Errorf("ingress: New: %s: %w", name, err)
	}
	return l, nil
}
