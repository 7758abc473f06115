package http11

import (
	"fmt"
	"math"
	"strings"
)

// A MemoryMode selects where request memory comes from and when it is returned.
// The zero value is [Pooled].
type MemoryMode uint8

// A ModeInfo describes a memory mode.
type ModeInfo struct {
	Name    string // returned by String, accepted by ParseMemoryMode
	Summary string // one-line description
	OffHeap bool   // the mode supports Memory.OffHeap
	// Keeps says that a connection keeps a block while it waits for its next
	// request.
	Keeps bool
}

// A mode implements a memory mode. Each is registered in its own file.
type mode struct {
	ModeInfo
	source func(Memory) source // takes a complete configuration
	keep   keeping             // which block a region keeps between requests
}

// registry holds the modes by number. Init functions fill it; it never changes
// afterwards.
var registry [math.MaxUint8 + 1]*mode

// register registers m under that number.
func register(number MemoryMode, m mode) {
	if old := registry[number]; old != nil {
		panic(fmt.Sprintf("http11: memory modes %s and %s both have number %d; give one another", old.Name, m.Name, number))
	}
	if same, ok := modeNamed(m.Name); ok {
		panic(fmt.Sprintf("http11: memory modes %d and %d are both named %s; rename one", same, number, m.Name))
	}
	registry[number] = &m
}

// MemoryModes returns all memory modes; the first is Pooled.
func MemoryModes() []MemoryMode {
	var all []MemoryMode
	for number, m := range registry {
		if m != nil {
			all = append(all, MemoryMode(number))
		}
	}
	return all
}

// ParseMemoryMode returns the mode of that name. The error lists the names.
func ParseMemoryMode(name string) (MemoryMode, error) {
	m, ok := modeNamed(name)
	if !ok {
		return 0, fmt.Errorf("http11: memory mode %q; want %s", name, modeNames())
	}
	return m, nil
}

func modeNamed(name string) (MemoryMode, bool) {
	for number, m := range registry {
		if m != nil && m.Name == name {
			return MemoryMode(number), true
		}
	}
	return 0, false
}

// modeNames lists the modes for messages.
func modeNames() string {
	var names []string
	for _, m := range MemoryModes() {
		names = append(names, m.String())
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Info describes the mode. It returns the zero ModeInfo for an unknown mode.
func (m MemoryMode) Info() ModeInfo {
	if known := registry[m]; known != nil {
		return known.ModeInfo
	}
	return ModeInfo{}
}

func (m MemoryMode) String() string {
	if known := registry[m]; known != nil {
		return known.Name
	}
	return fmt.Sprintf("MemoryMode(%d)", uint8(m))
}
