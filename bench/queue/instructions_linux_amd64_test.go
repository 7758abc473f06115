package queue_test

import (
	"runtime"
	"testing"

	"github.com/isobar-go/isobar/bench/internal/steps"
)

const tracedValues = 256

var programs = steps.Programs{}

func init() {
	for _, impl := range mpsc {
		programs["single "+impl.name] = func() []func() { return tracedParts(impl.make(), 1) }
		programs["batch "+impl.name] = func() []func() { return tracedParts(impl.make(), maxBatch) }
	}
	steps.Serve(programs)
}

// tracedParts push values in batches and take them, after rounds that leave the queue
// with the memory that it needs.
func tracedParts(q queue, batch int) []func() {
	values, dst := make([]*task, maxBatch), make([]*task, maxBatch)
	push := func() {
		for range tracedValues / batch {
			if batch == 1 {
				q.push(values[0])
			} else {
				q.pushBatch(values)
			}
		}
	}
	take := func() {
		for n := 0; n < tracedValues; {
			n += q.take(dst)
		}
	}
	for range 8 {
		push()
		take()
	}
	return []func(){push, take}
}

// TestInstructions holds what docs/adr/0017 says about the rows of this package: a
// batch executes several times the instructions of a slice, as each value has
// a mark of its own, and a single value fewer than in a queue of compare-and-swaps.
func TestInstructions(t *testing.T) {
	if testing.Short() {
		t.Skip("traces instruction by instruction")
	}
	sum := func(program string) float64 {
		if n := mallocs(programs[program]()); n > 0 { // one takes 230 instructions, and up to 90,000 where the heap grows
			t.Fatalf("%s: %d allocations in what is traced, want none", program, n)
		}
		each := steps.PerOperation(t, program, 2, tracedValues)
		return each[0] + each[1]
	}
	if ratio := sum("batch isobar") / sum("batch mutex-slice"); ratio < 3 || ratio > 10 {
		t.Errorf("a batch executes %.1f times the instructions of a slice behind a mutex, want 3 to 10", ratio)
	}
	if ratio := sum("single isobar") / sum("single xsync-mpmc"); ratio > 0.75 {
		t.Errorf("single values execute %.2f of the instructions of xsync's bounded queue, want 0.75 at most", ratio)
	}
}

// mallocs counts the allocations of parts.
func mallocs(parts []func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, part := range parts {
		part()
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}
