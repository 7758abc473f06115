package workload

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/exercise"
)

func anExercise(t *testing.T, number int, variant string, seed uint64) *exercises {
	t.Helper()
	return build(t, "exercises", given{"exercise": strconv.Itoa(number), "variant": variant}, seed).(*exercises)
}

// TestExercisesAgree: all variants of an exercise give the same result, however their
// operations are split.
func TestExercisesAgree(t *testing.T) {
	for i, c := range exercise.All {
		const ops = 60
		want := drive(anExercise(t, i+1, "before", 1), ops, ops)
		if want == 0 {
			t.Errorf("%s: checksum 0", c.Name)
		}
		for variant := range c.Variants {
			if got := drive(anExercise(t, i+1, variant, 1), ops, 7); got != want {
				t.Errorf("%s, %s: checksum %#x, before %#x", c.Name, variant, got, want)
			}
		}
		if got := drive(anExercise(t, i+1, "after", 2), ops, ops); got == want {
			t.Errorf("%s: another seed, the same checksum", c.Name)
		}
	}
	if len(exercise.All) != 18 {
		t.Errorf("%d exercises, want 18", len(exercise.All))
	}
}

// TestExercisesAllocate checks the allocations of each variant with Go 1.26, which removed
// several of the document's effects.
func TestExercisesAllocate(t *testing.T) {
	if invariant.Race {
		t.Skip("race builds allocate differently")
	}
	if !strings.HasPrefix(runtime.Version(), "go1.26") {
		t.Skipf("the counts are those of Go 1.26, this is %s", runtime.Version())
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one P finds nothing of what a pool keeps for another
	for number, variants := range map[int]map[string]float64{
		1:  {"before": 3, "after": 0},
		2:  {"before": 0, "after": 0, "unsafe": 0, "kept": 1}, // gone if the callee only reads
		3:  {"before": 1, "after": 0},
		4:  {"before": 98, "after": 1},
		5:  {"before": 9, "after": 1, "index": 1},
		6:  {"before": 4, "after": 0, "pool": 1},
		7:  {"before": 12, "after": 22}, // reversed
		8:  {"before": 2, "after": 0, "slog": 2},
		9:  {"before": 2, "after": 1},
		10: {"before": 3, "after": 0}, // the timer, its channel, the channel's buffer
		12: {"before": 61, "after": 0, "lazy": 0},
		13: {"before": 0, "after": 0},
		14: {"before": 100, "after": 0, "explicit": 0},
		15: {"before": 1, "after": 0, "inlined": 0}, // gone if inlined
		16: {"before": 4, "after": 1, "iterator": 0},
		18: {"before": 1, "after": 0, "inlined": 0}, // gone if inlined
	} {
		for variant, want := range variants {
			allocs, _ := perOperation(anExercise(t, number, variant, 1), 500)
			if allocs < want-0.1 || allocs > want+0.2 {
				t.Errorf("exercise %d, %s: %v allocations an operation, want %v", number, variant, allocs, want)
			}
		}
	}
	before, _ := perOperation(anExercise(t, 11, "before", 1), 200)
	after, _ := perOperation(anExercise(t, 11, "after", 1), 200)
	if after >= before {
		t.Errorf("exercise 11: %v allocations before, %v after; want fewer", before, after)
	}
	finalizer, _ := perOperation(anExercise(t, 17, "before", 1), 500)
	closing, _ := perOperation(anExercise(t, 17, "after", 1), 500)
	if closing < 1 || closing > finalizer+0.1 {
		t.Errorf("exercise 17: %v allocations with a finalizer, %v with Close; want at least 1, and no more",
			finalizer, closing)
	}
}

func TestExercisesRefuse(t *testing.T) {
	for _, c := range []struct {
		g    given
		want string
	}{
		{given{"exercise": "19"}, "want a whole number from 1 to 18"},
		{given{"variant": "faster"}, "want before, after, or one of: 2 kept unsafe"},
		{given{"exercise": "1", "variant": "lazy"}, "exercise 1 (sprintf) has no variant"},
		{given{"iterations": "0", "duration": "0"}, "iterations and duration are both 0"},
	} {
		if _, err := tryBuild("exercises", c.g, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want ... %s", c.g, err, c.want)
		}
	}
}
