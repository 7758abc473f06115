package ingress

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A side is a strategy with its switches.
type side struct {
	name     string
	switches map[string]bool
}

// sides returns all strategies, with the ablation in each of its 32 forms.
func sides() []side {
	var all []side
	for _, name := range Names() {
		if name != ablation {
			all = append(all, side{name: name})
			continue
		}
		names := []string{switchArena, switchLockFree, switchClearing, switchPadding, switchBatching}
		for bits := range 1 << len(names) {
			s := side{ablation, map[string]bool{}}
			for i, name := range names {
				s.switches[name] = bits>>i&1 == 1
			}
			all = append(all, s)
		}
	}
	return all
}

func (s side) String() string {
	name := s.name
	for _, k := range []string{switchArena, switchLockFree, switchClearing, switchPadding, switchBatching} {
		if s.switches[k] {
			name += "," + k
		}
	}
	return name
}

func (s side) start(t testing.TB, producers int) Loop {
	t.Helper()
	l, err := New(s.name, Config{Producers: producers, Switches: s.switches})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A ledger checks that each task of each producer runs once and in order. The
// loop owns it until Close has returned.
type ledger struct {
	next  []int
	wrong []string
}

func (l *ledger) task(producer, i int) Task {
	return func() {
		if l.next[producer] != i && len(l.wrong) < 3 {
			l.wrong = append(l.wrong, fmt.Sprintf("producer %d: task %d ran, want %d", producer, i, l.next[producer]))
		}
		l.next[producer] = i + 1
	}
}

// produce submits n tasks as producer p, singly and in batches, with stalls.
func (l *ledger) produce(loop Loop, p, n int) {
	r := rand.New(rand.NewPCG(uint64(p), uint64(n)))
	for i := 0; i < n; {
		switch r.IntN(64) {
		case 0:
			runtime.Gosched()
		case 1:
			batch := make([]Task, min(r.IntN(200), n-i))
			for j := range batch {
				batch[j] = l.task(p, i+j)
			}
			loop.SubmitBatch(p, batch)
			clear(batch) // the loop must not keep the batch
			i += len(batch)
		case 2: // until the loop has caught up and sleeps
			caught := make(chan struct{})
			loop.Submit(p, func() { close(caught) })
			<-caught
		case 3:
			stall := r.IntN(1000)
			loop.Submit(p, func() {
				for range stall {
					runtime.Gosched()
				}
			})
		default:
			loop.Submit(p, l.task(p, i))
			i++
		}
	}
}

func conform(t *testing.T, s side, producers, n int) {
	ordered(t, s.start(t, producers), producers, n)
}

// ordered has producers submit n tasks each, which must run once and in order.
func ordered(t *testing.T, loop Loop, producers, n int) {
	t.Helper()
	l := &ledger{next: make([]int, producers)}
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() { l.produce(loop, p, n) })
	}
	wg.Wait()
	if err := loop.Close(); err != nil {
		t.Fatal(err)
	}
	if len(l.wrong) > 0 || slices.ContainsFunc(l.next, func(ran int) bool { return ran != n }) {
		t.Errorf("%v of %d tasks ran; %s", l.next, n, strings.Join(l.wrong, "; "))
	}
}

// TestConformance holds every strategy to the promise: each task runs once, in
// the order of its producer.
func TestConformance(t *testing.T) {
	n := 20_000
	if testing.Short() || invariant.Race {
		n = 3000
	}
	for _, s := range sides() {
		t.Run(s.String(), func(t *testing.T) {
			for _, producers := range []int{1, 5} {
				conform(t, s, producers, n/producers)
			}
		})
	}
}

// TestBurst submits more tasks than two task arenas hold while the loop is
// blocked.
func TestBurst(t *testing.T) {
	for _, s := range sides() {
		if len(s.switches) > 0 && !s.switches[switchArena] {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			n := 2*segmentLen + 1000
			if s.name == "channel" {
				n = 8000 // more would block its producer
			}
			loop := s.start(t, 1)
			held := make(chan struct{})
			loop.Submit(0, func() { <-held })
			l := &ledger{next: make([]int, 1)}
			for i := range n {
				loop.Submit(0, l.task(0, i))
			}
			close(held)
			if err := loop.Close(); err != nil {
				t.Fatal(err)
			}
			if l.next[0] != n || len(l.wrong) > 0 {
				t.Errorf("%d of %d tasks ran; %s", l.next[0], n, strings.Join(l.wrong, "; "))
			}
		})
	}
}

// overwriting is the document's task arena: it reuses a slot even if its task
// has not run.
type overwriting struct {
	celled
	slots [64]cell
	given int
}

func (o *overwriting) push(producer int, t Task) {
	c := &o.slots[o.given%len(o.slots)]
	o.given++
	c.task, c.home = t, new(segment)
	o.queue.push(producer, c)
}

// TestLedgerSeesOverwriting: the check fails if the document's arena is used
// beyond its size.
func TestLedgerSeesOverwriting(t *testing.T) {
	q := &overwriting{celled: *newCelled(newLinked[*cell, tight](false), 1)}
	l := &ledger{next: make([]int, 1)}
	for i := range 100 {
		q.push(0, l.task(0, i))
	}
	ran := 0
	dst := make([]Task, 200)
	for _, task := range dst[:q.drain(dst)] {
		if task != nil {
			task()
			ran++
		}
	}
	if ran != 64 || len(l.wrong) == 0 {
		t.Errorf("%d tasks ran and the ledger says %q; want 64, and the gap reported", ran, l.wrong)
	}
}

// smallSegments is a queue of tasks in an arena whose segments are so small that
// they are reset constantly.
func smallSegments(producers int) *celled {
	q := newCelled(newLinked[*cell, padded](true), producers)
	q.cells = newArena(4)
	return q
}

// TestArenaReuse: with a bounded backlog an arena needs only a few segments,
// even if producers hold a segment across its reset.
func TestArenaReuse(t *testing.T) {
	q := smallSegments(1)
	seen := map[*segment]bool{}
	dst, ran := make([]Task, 8), 0
	for range 1000 {
		q.push(0, func() { ran++ })
		seen[q.cells.current.Load()] = true
		for _, task := range dst[:q.drain(dst)] {
			task()
		}
	}
	if ran != 1000 || len(seen) > 3 {
		t.Errorf("%d of 1000 tasks ran on %d segments; want all on at most 3", ran, len(seen))
	}
}

// TestSmallSegments runs many producers over small segments.
func TestSmallSegments(t *testing.T) {
	const producers, n = 8, 5000
	ordered(t, start(smallSegments(producers), options{}), producers, n)
}

func TestNewRefuses(t *testing.T) {
	if _, err := New("mian", Config{Producers: 1}); err == nil || !strings.Contains(err.Error(), "unknown strategy") {
		t.Errorf("%v, want an unknown strategy", err)
	}
}
