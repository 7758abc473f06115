package plan

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func study(workload string) Study {
	return Study{
		Workload: workload,
		Factors: []Factor{{"gc", []string{"default", "tuned"}}, {"pool", []string{"off", "on"}},
			{"size", []string{"1", "2", "3"}}},
	}
}

func TestConfigsAreTheCrossProductBaselineFirst(t *testing.T) {
	configs, err := study("w").Configs()
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, c := range configs {
		keys = append(keys, c.Key())
	}
	var want []string
	for _, pool := range []string{"off", "on"} {
		for size := 1; size <= 3; size++ {
			for _, gc := range []string{"default", "tuned"} {
				want = append(want, fmt.Sprintf("w/pool=%s/size=%d/gc=%s", pool, size, gc))
			}
		}
	}
	if !reflect.DeepEqual(keys, want) {
		t.Errorf("keys:\n got %q\nwant %q", keys, want)
	}
}

func TestEveryBlockHoldsEveryConfigurationOnceAndTwins(t *testing.T) {
	spec := Spec{Studies: []Study{study("a"), study("b"), {Workload: "single"}}, Repetitions: 7, Seed: 42,
		Timeout: time.Minute, MemoryBytes: 1 << 30, Profiles: []string{"cpu"}}
	cells, err := spec.Cells()
	if err != nil {
		t.Fatal(err)
	}
	const perBlock = 12 + 1 + 12 + 1 + 1
	if len(cells) != 7*perBlock {
		t.Fatalf("%d cells, want %d", len(cells), 7*perBlock)
	}
	orders := map[string]bool{}
	for block := range 7 {
		part := cells[block*perBlock : (block+1)*perBlock]
		seen := map[string]int{}
		twins := 0
		order := ""
		for i, c := range part {
			if c.Index != block*perBlock+i || c.Block != block {
				t.Fatalf("cell %d of block %d has index %d, block %d", i, block, c.Index, c.Block)
			}
			if c.Seed != part[0].Seed {
				t.Errorf("block %d: seeds differ within the block", block)
			}
			if c.Timeout != time.Minute || c.MemoryBytes != 1<<30 || len(c.Profiles) != 1 {
				t.Errorf("cell %d lacks the limits or profiles of the spec", c.Index)
			}
			seen[c.Key()]++
			if c.Twin {
				twins++
			}
			order += c.Key() + "\n"
		}
		if len(seen) != perBlock || twins != 2 {
			t.Errorf("block %d: %d distinct configurations and %d twins, want %d and 2", block, len(seen), twins, perBlock)
		}
		orders[order] = true
	}
	if len(orders) < 6 {
		t.Errorf("7 blocks in %d orders: not shuffled", len(orders))
	}
	if cells[0].Seed == cells[perBlock].Seed {
		t.Error("blocks share a seed")
	}
}

func TestEqualSpecsHaveEqualCells(t *testing.T) {
	spec := Spec{Studies: []Study{study("a")}, Repetitions: 3, Seed: 7}
	a, _ := spec.Cells()
	b, _ := spec.Cells()
	if !reflect.DeepEqual(a, b) {
		t.Error("the same spec gave different cells")
	}
	spec.Seed = 8
	if c, _ := spec.Cells(); reflect.DeepEqual(a, c) {
		t.Error("another seed gave the same cells")
	}
}

func TestRefusals(t *testing.T) {
	many := make([]string, 2000)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for name, tc := range map[string]struct {
		spec Spec
		want string
	}{
		"no repetitions": {Spec{Studies: []Study{study("a")}}, "1 or more"},
		"no study":       {Spec{Repetitions: 1}, "nothing to measure"},
		"level twice":    {Spec{Repetitions: 1, Studies: []Study{{Workload: "a", Factors: []Factor{{"gc", []string{"off", "disabled"}}}}}}, "twice"},
		"param twice":    {Spec{Repetitions: 1, Studies: []Study{{Workload: "a", Factors: []Factor{{"x", []string{"1", "1"}}}}}}, "--x names 1 twice"},
		"no level":       {Spec{Repetitions: 1, Studies: []Study{{Workload: "a", Factors: []Factor{{"x", nil}}}}}, "no level"},
		"study twice":    {Spec{Repetitions: 1, Studies: []Study{study("a"), study("a")}}, "occurs twice"},
		"too many":       {Spec{Repetitions: 1, Studies: []Study{{Workload: "a", Factors: []Factor{{"x", many}, {"y", many}}}}}, "more than"},
		"too many cells": {Spec{Repetitions: 100_000, Studies: []Study{study("a")}}, "exceed 1000000 cells"},
	} {
		if _, err := tc.spec.Cells(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, tc.want)
		}
	}
}
