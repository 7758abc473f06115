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
	"maps"
	"math/rand/v2"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// MaxCells limits a plan. A larger one must come from a mistake in the levels.
const MaxCells = 1_000_000

// A Factor is one parameter and the values it takes.
type Factor struct {
	Name   string
	Levels []string
}

// A Study is one workload with the levels of its factors. An empty list of GC
// settings, Procs, Pods, Collectors or Go means one level: the default collector
// settings, the GOMAXPROCS that the Go runtime chooses, no control group, the
// binary's own collector and Go version.
type Study struct {
	Workload   string
	Name       string   // tells studies of the same workload apart
	Command    []string // the program of an exec study
	Params     []Factor // varies slowest first
	GC         []cell.GC
	Procs      []int
	Pods       []cell.Pod // of the program
	Collectors []string
	Go         []string // Go versions that build the binary
}

// A Spec is everything that determines a plan. Equal specs have equal cells.
type Spec struct {
	Studies     []Study
	Repetitions int // blocks, 1 or more
	Seed        uint64
	NoTwins     bool
	// The rest is copied into every cell.
	Timeout     time.Duration
	MemoryBytes int64
	Untimed     bool
	Profiles    []string
}

// Configs returns the configurations of s in order, the baseline first.
func (s Study) Configs() ([]cell.Config, error) {
	configs := []cell.Config{{Workload: s.Workload, Study: s.Name, Command: s.Command}}
	for _, f := range s.Params {
		if err := distinct(f.Name, f.Levels); err != nil {
			return nil, err
		}
	}
	gcs := s.GC
	if len(gcs) == 0 {
		gcs = []cell.GC{cell.DefaultGC}
	}
	procs := s.Procs
	if len(procs) == 0 {
		procs = []int{0}
	}
	pods := s.Pods
	if len(pods) == 0 {
		pods = []cell.Pod{{}}
	}
	collectors := s.Collectors
	if len(collectors) == 0 {
		collectors = []string{""}
	}
	versions := s.Go
	if len(versions) == 0 {
		versions = []string{""}
	}
	if err := distinct("go", versions); err != nil {
		return nil, err
	}
	if err := distinct("gc", gcs); err != nil {
		return nil, err
	}
	if err := distinct("gomaxprocs", procs); err != nil {
		return nil, err
	}
	if err := distinct("cpus and --memory-max", pods); err != nil {
		return nil, err
	}
	if err := distinct("collector", collectors); err != nil {
		return nil, err
	}
	if n := size(s.Params, len(gcs)*len(procs)*len(pods)*len(collectors)*len(versions)); n > MaxCells {
		return nil, fmt.Errorf("plan: %s: more than %d configurations: give fewer levels", s.Workload, MaxCells)
	}
	for _, f := range s.Params {
		configs = cross(configs, f.Levels, func(c *cell.Config, level string) {
			c.Params = maps.Clone(c.Params)
			if c.Params == nil {
				c.Params = make(map[string]string)
			}
			c.Params[f.Name] = level
		})
	}
	configs = cross(configs, versions, func(c *cell.Config, v string) { c.Go = v })
	configs = cross(configs, collectors, func(c *cell.Config, v string) { c.Collector = v })
	configs = cross(configs, pods, func(c *cell.Config, v cell.Pod) { c.Pod = v })
	configs = cross(configs, procs, func(c *cell.Config, v int) { c.GOMAXPROCS = v })
	configs = cross(configs, gcs, func(c *cell.Config, v cell.GC) { c.GC = v })
	return configs, nil
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
		if len(own) > 1 && !s.NoTwins {
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

// size returns n times the product of the factors' levels. Above MaxCells it
// may stop at any larger number.
func size(factors []Factor, n int) int {
	for _, f := range factors {
		if n > MaxCells {
			break
		}
		n *= len(f.Levels)
	}
	return n
}

// cross returns every configuration with every level set.
func cross[L any](configs []cell.Config, levels []L, set func(*cell.Config, L)) []cell.Config {
	out := make([]cell.Config, 0, len(configs)*len(levels))
	for _, c := range configs {
		for _, level := range levels {
			next := c
			set(&next, level)
			out = append(out, next)
		}
	}
	return out
}

func distinct[L comparable](factor string, levels []L) error {
	if len(levels) == 0 {
		return fmt.Errorf("plan: --%s has no level: give at least one value", factor)
	}
	seen := make(map[L]bool, len(levels))
	for _, level := range levels {
		if seen[level] {
			return fmt.Errorf("plan: --%s names %v twice: give each level once", factor, level)
		}
		seen[level] = true
	}
	return nil
}

// NewSeed draws a seed, short enough to type.
func NewSeed() uint64 { return rand.Uint64()>>12 + 1 }
