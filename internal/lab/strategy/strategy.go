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
	"sort"
	"strings"
)

// A Kind is one registered strategy.
type Kind struct {
	Name    string
	Summary string // one line
	// New builds the strategy for buffers of size bytes (1 or more), used by
	// workers 0 to workers-1 at the same time.
	New func(size, workers int) (Strategy, error)
}

// A Strategy is one way of obtaining a buffer, shared by several workers.
type Strategy interface {
	// Worker returns the handle of worker i, for one goroutine at a time.
	Worker(i int) Worker
}

// A Worker is one worker's handle.
type Worker interface {
	// Do obtains a buffer, calls work with it, gives it back and returns what work
	// returned. The buffer's contents are unspecified.
	Do(work func([]byte) uint64) uint64
}

var registry = map[string]*Kind{}

// Register adds a strategy; init functions call it. It panics if the name is
// taken.
func Register(k *Kind) {
	if registry[k.Name] != nil {
		panic("strategy: Register: " + k.Name + " is registered twice")
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

// Names returns the names of the registered strategies, sorted.
func Names() []string {
	var names []string
	for _, k := range All() {
		names = append(names, k.Name)
	}
	return names
}

// New builds the named strategy.
func New(name string, size, workers int) (Strategy, error) {
	k := registry[name]
	if k == nil {
		return nil, fmt.Errorf("strategy: unknown strategy %q (there are: %s)", name, strings.Join(Names(), ", "))
	}
	if size < 1 || workers < 1 {
		return nil, fmt.Errorf("strategy: %s: size %d, workers %d: want 1 or more of both", name, size, workers)
	}
	s, err := k.New(size, workers)
	if err != nil {
		return nil, fmt.Errorf("strategy: %s: %w", name, err)
	}
	return s, nil
}
