// Package plan turns factors and their levels into cells.
//
// A [Study] is one workload and the levels of each of its factors; its
// configurations are the full cross product. A [Spec] is one or more studies
// measured together. [Spec.Cells] lays them out in blocks. Each block holds
// every configuration once, in a new order shuffled from the recorded seed, so
// that machine drift hits all configurations alike and comparisons can be
// paired by block (a randomized complete block design: Fisher, The Design of
// Experiments, 1935).
//
// The first configuration of a study, the first level of every factor, is its
// baseline. Each block carries the baseline twice, the second time as its twin:
// comparing the two (A/A) shows how much equal configurations differ on this
// machine, and no verdict may be finer than that.
//
// The package computes; it runs nothing and knows no workload.
package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// MaxCells limits a plan. A larger one must come from a mistake in the levels.
const MaxCells = 1_000_000

// A Factor is a parameter of the workload, or a setting that every workload has
// (see cell.Config), and the values it takes in flag syntax.
type Factor struct {
	Name   string
	Levels []string
}

// A Study is one workload with the levels of its factors. Settings without levels have their
// defaults: the default collector settings, the GOMAXPROCS that the Go runtime chooses, no
// control group, the binary's own collector and Go version.
type Study struct {
	Workload string
	Name     string   // distinguishes studies of one workload
	Command  []string // the program of an exec study
	Factors  []Factor
}

// A Spec is everything that determines a plan. Equal specs have equal cells.
type Spec struct {
	Studies     []Study
	Repetitions int // blocks, 1 or more
	Seed        uint64
	// The rest is copied into every cell.
	Timeout     time.Duration
	MemoryBytes int64
	Untimed     bool
	Profiles    []string
}

// settings are the settings that a study can vary; the last varies fastest.
var settings = []string{"go", "collector", "pod", "gomaxprocs", "gc"}

// Configs returns the configurations of s in order, the baseline first. The first
// parameter varies slowest; settings vary faster than all parameters.
func (s Study) Configs() ([]cell.Config, error) {
	configs := []cell.Config{{Workload: s.Workload, Study: s.Name, Command: s.Command, GC: cell.DefaultGC}}
	factors := slices.Clone(s.Factors)
	slices.SortStableFunc(factors, func(a, b Factor) int {
		return slices.Index(settings, a.Name) - slices.Index(settings, b.Name) // -1 for parameters
	})
	for _, f := range factors {
		if err := f.check(); err != nil {
			return nil, err
		}
		if len(configs)*len(f.Levels) > MaxCells {
			return nil, fmt.Errorf("plan: %s: more than %d configurations: give fewer levels", s.Workload, MaxCells)
		}
		crossed := make([]cell.Config, 0, len(configs)*len(f.Levels))
		for _, c := range configs {
			for _, level := range f.Levels {
				next := c
				if err := next.Set(f.Name, level); err != nil {
					return nil, fmt.Errorf("plan: --%s: %w", f.Name, err)
				}
				crossed = append(crossed, next)
			}
		}
		configs = crossed
	}
	return configs, nil
}

// check refuses a factor without levels, or with the same level twice in any notation.
func (f Factor) check() error {
	if len(f.Levels) == 0 {
		return fmt.Errorf("plan: --%s has no level: give at least one value", f.Name)
	}
	seen := make(map[string]bool, len(f.Levels))
	for _, level := range f.Levels {
		var c cell.Config
		if err := c.Set(f.Name, level); err != nil {
			return fmt.Errorf("plan: --%s: %w", f.Name, err)
		}
		value, _ := c.Factor(f.Name)
		if seen[value] {
			return fmt.Errorf("plan: --%s names %s twice: give each level once", f.Name, level)
		}
		seen[value] = true
	}
	return nil
}

// Cells returns the plan: Repetitions blocks, each in its own order, numbered
// consecutively.
func (s Spec) Cells() ([]cell.Cell, error) {
	if s.Repetitions < 1 {
		return nil, fmt.Errorf("plan: %d repetitions: want 1 or more", s.Repetitions)
	}
	var configs []cell.Config
	for _, study := range s.Studies {
		own, err := study.Configs()
		if err != nil {
			return nil, err
		}
		if len(own) > 1 {
			twin := own[0]
			twin.Twin = true
			own = append(own, twin)
		}
		configs = append(configs, own...)
	}
	if len(configs) == 0 {
		return nil, fmt.Errorf("plan: nothing to measure: give at least one study")
	}
	if len(configs) > MaxCells/s.Repetitions {
		return nil, fmt.Errorf("plan: %d configurations x %d repetitions exceed %d cells: give fewer levels or repetitions",
			len(configs), s.Repetitions, MaxCells)
	}
	seen := make(map[string]bool, len(configs))
	for _, c := range configs {
		if key := c.Key(); seen[key] {
			return nil, fmt.Errorf("plan: configuration %s occurs twice: give each level once", key)
		} else {
			seen[key] = true
		}
	}
	rng := rand.New(rand.NewPCG(s.Seed, 0x15_0ba2))
	cells := make([]cell.Cell, 0, len(configs)*s.Repetitions)
	for block := range s.Repetitions {
		seed := rng.Uint64()
		for _, i := range rng.Perm(len(configs)) {
			cells = append(cells, cell.Cell{
				Config: configs[i], Index: len(cells), Order: i, Block: block, Seed: seed,
				Timeout: s.Timeout, MemoryBytes: s.MemoryBytes, Untimed: s.Untimed, Profiles: s.Profiles,
			})
		}
	}
	return cells, nil
}

// NewSeed draws a seed, short enough to type.
func NewSeed() uint64 { return rand.Uint64()>>12 + 1 }
