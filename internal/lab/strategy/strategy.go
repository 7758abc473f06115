// Package strategy holds the ways of obtaining a buffer that the lab compares.
// Each has a file of its own and registers itself.
//
// Every strategy hands the same work a buffer of the same size, so it must
// produce the same checksum; a test holds all of them to that. A strategy that
// is no longer a real alternative is deleted: its results stay in the store,
// its code in the history.
package strategy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Strategy is one way of obtaining a buffer, shared by several workers. The
// aliases make these types those that package workload has too.
type Strategy = interface {
	// Worker returns the handle of worker i, for one goroutine at a time.
	Worker(i int) Worker
}

// A Worker is one worker's handle.
type Worker = interface {
	// Do obtains a buffer, calls work with it, gives it back and returns what work
	// returned. The buffer's contents are unspecified.
	Do(work func([]byte) uint64) uint64
}

// A maker builds a strategy for buffers of size bytes (1 or more), used by
// workers 0 to workers-1 at the same time.
type maker func(size, workers int) (Strategy, error)

var registry = map[string]maker{}

// Register adds a strategy; init functions call it. It panics if the name is
// taken.
func Register(name string, build maker) {
	if registry[name] != nil {
		panic("strategy: Register: " + name + " is registered twice")
	}
	registry[name] = build
}

// Names returns the names of the registered strategies, sorted.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }

// New builds the named strategy.
func New(name string, size, workers int) (Strategy, error) {
	build := registry[name]
	if build == nil {
		return nil, fmt.Errorf("strategy: unknown strategy %q (there are: %s)", name, strings.Join(Names(), ", "))
	}
	if size < 1 || workers < 1 {
		return nil, fmt.Errorf("strategy: %s: size %d, workers %d: want 1 or more of both", name, size, workers)
	}
	s, err := build(size, workers)
	if err != nil {
		return nil, fmt.Errorf("strategy: %s: %w", name, err)
	}
	return s, nil
}
