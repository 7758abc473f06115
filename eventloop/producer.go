package eventloop

import (
	"slices"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/isobar-go/isobar/queue"
)

// A Producer submits tasks to a loop over its own lane, for one goroutine that
// submits much. Make one with [Loop.Producer]; it must not be copied. Only one
// goroutine at a time may submit with it; builds with the race detector or the
// isobar_debug tag panic on a second one.
//
// The tasks of a producer run in the order they were submitted; they have no
// order relative to other tasks. Everything said about Submit, Shutdown and the
// limit holds here too. The loop checks the lane of each open producer in each
// turn and serves lanes in rotation, so close a producer that is no longer
// needed.
type Producer struct {
	_    cpu.CacheLinePad // a Producer's neighbours in memory may be written with each task
	loop *Loop
	lane *lane
	over atomic.Bool // publishes that Close, not the end of the loop, closed lane; stored under Loop.mu
	_    cpu.CacheLinePad
}

// A lane brings the tasks of one producer to the loop.
type lane = queue.SPSC[Task]

// A laneSet is immutable.
type laneSet struct {
	open    []*Producer // producers whose lanes the loop checks
	retired uint64      // how many tasks came over dropped lanes
}

// total sums over all lanes there have been how many tasks came, which both Close and
// Pushed return.
func (s *laneSet) total(tasks func(*lane) uint64) uint64 {
	if s == nil {
		return 0
	}
	n := s.retired
	for _, p := range s.open {
		n += tasks(p.lane)
	}
	return n
}

// Producer returns a new producer. It fails with ErrClosed after Shutdown or
// Close.
func (l *Loop) Producer() (*Producer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fail("Producer", ErrClosed)
	}
	p := &Producer{loop: l, lane: queue.NewSPSC[Task](0)}
	s := laneSet{}
	if old := l.lanes.Load(); old != nil {
		s = *old
	}
	s.open = append(slices.Clip(s.open), p)
	l.lanes.Store(&s)
	return p, nil
}

// Submit is [Loop.Submit] over the lane of p. The error may also be
// ErrProducer.
func (p *Producer) Submit(f func()) error {
	if f == nil {
		return errSubmitNil
	}
	return p.submit(call(f))
}

// SubmitTask is [Loop.SubmitTask] over the lane of p. The error may also be
// ErrProducer.
func (p *Producer) SubmitTask(t Task) error {
	if t == nil {
		return errSubmitNil
	}
	return p.submit(t)
}

func (p *Producer) submit(t Task) error {
	l := p.loop
	if l.config.Limit > 0 {
		if err := l.reserve(1); err != nil {
			return err
		}
	}
	if l.config.Latency != nil {
		t = l.stamp(t, l.now())
	}
	if !p.lane.Push(t) {
		return p.refused(1)
	}
	l.sleeper.Wake()
	return nil
}

// SubmitBatch is [Loop.SubmitBatch] over the lane of p. The error may also be
// ErrProducer.
func (p *Producer) SubmitBatch(tasks []Task) error {
	if p.over.Load() {
		return errProducer
	}
	ok, err := p.loop.offer(p.lane, tasks)
	if err == nil && !ok {
		return p.refused(len(tasks))
	}
	return err
}

// refused ends a submission over a closed lane.
func (p *Producer) refused(n int) error {
	if p.over.Load() {
		p.loop.release(n)
		return errProducer
	}
	return p.loop.refused(n)
}

// Close ends the producer. Its submissions still run; then the loop drops the
// lane. Any goroutine may call it. A second Close returns ErrProducer.
func (p *Producer) Close() error {
	l := p.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.over.Load() {
		return fail("Producer.Close", ErrProducer)
	}
	p.over.Store(true)
	p.lane.Close()
	l.leaving.Add(1)
	l.sleeper.Wake()
	return nil
}

// gather moves tasks from the ingress and the lanes to the batch, and returns
// how many. Each source gets a share of the batch, and another if the batch is
// not yet full. The next gathering continues where the last one ended.
func (l *Loop) gather(s *laneSet) int {
	if l.leaving.Load() != 0 {
		s = l.retire()
	}
	sources := len(s.open) + 1
	share := max(8, batchLen/sources)
	n := 0
	for more := true; more; {
		more = false
		for range sources {
			l.rotation++
			if l.rotation >= sources {
				l.rotation = 0
			}
			dst := l.batch[n:min(n+share, batchLen)]
			got := 0
			if l.rotation == 0 {
				got = l.in.Drain(dst)
			} else {
				got = s.open[l.rotation-1].lane.Drain(dst)
			}
			if n += got; n == batchLen {
				return n
			}
			more = more || got == share
		}
	}
	return n
}

// retire drops the lanes that are closed and empty, and returns the remaining
// set.
func (l *Loop) retire() *laneSet {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.lanes.Load()
	s := &laneSet{retired: old.retired}
	for _, p := range old.open {
		if p.over.Load() && p.lane.Len() == 0 {
			s.retired += p.lane.Pushed()
			l.leaving.Add(-1)
		} else {
			s.open = append(s.open, p)
		}
	}
	l.lanes.Store(s)
	return s
}
