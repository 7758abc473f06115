// Package strategy holds the ways to come by a buffer that the lab compares:
// one file each, which registers itself.
//
// Every strategy hands the same work a buffer of the same size and must
// therefore produce the same checksum; a test holds all of them to it. A
// strategy that stops being an alternative is deleted: its results stay in the
// store, its code in the history.
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
	// workers 0..workers-1 at once.
	New func(size, workers int) (Strategy, error)
}

// A Strategy is one way to come by a buffer, shared by a number of workers.
type Strategy interface {
	// Worker returns the handle of worker number i, for use by one goroutine
	// at a time.
	Worker(i int) Worker
}

// A Worker is one worker's handle.
type Worker interface {
	// Do obtains a buffer, calls work with it, gives the buffer back and
	// returns what work returned. The buffer's contents are unspecified.
	Do(work func([]byte) uint64) uint64
}

var registry = map[string]*Kind{}

// Register adds a strategy. It is called from init functions and panics if the
// name is taken.
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

// New builds the strategy of that name.
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
