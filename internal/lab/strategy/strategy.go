// Package strategy holds the ways of obtaining a buffer that the lab compares. Each
// has its own file and registers itself.
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

// A Worker obtains a buffer, calls work with it, gives it back and returns the result of work.
// The buffer's contents are unspecified. Only one goroutine uses a Worker at a time.
type Worker = func(work func([]byte) uint64) uint64

// A maker returns the given number of workers, which run at the same time, with
// buffers of size bytes.
type maker func(size, workers int) ([]Worker, error)

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

// New returns the workers of the named strategy. Size and workers are 1 or more.
func New(name string, size, workers int) ([]Worker, error) {
	build := registry[name]
	if build == nil {
		return nil, fmt.Errorf("strategy: unknown strategy %q (there are: %s)", name, strings.Join(Names(), ", "))
	}
	all, err := build(size, workers)
	if err != nil {
		return nil, fmt.Errorf("strategy: %s: %w", name, err)
	}
	return all, nil
}

// shared returns w as n workers: n goroutines may call it at the same time.
func shared(n int, w Worker) []Worker { return slices.Repeat([]Worker{w}, n) }
