package runner

import (
	"bytes"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

const (
	// sampleInterval is how often memory is sampled.
	sampleInterval = 10 * time.Millisecond
	// maxSamples bounds a timeline: when it is reached, every other row is dropped
	// and the interval doubles.
	maxSamples = 1 << 14
	// maxPauses bounds the list of pauses; the histogram has all of them.
	maxPauses = 1 << 15
)

// A sampler samples memory at a fixed interval in its own goroutine. It allocates
// only to grow its lists.
type sampler struct {
	began    time.Time
	interval time.Duration
	done     chan struct{} // closed to stop
	stopped  chan struct{} // closed when stop may use the fields below

	line   cell.Timeline
	pauses []cell.Pause
	// The largest values seen, including those of dropped rows.
	heap, goal, sys int64

	values [4]metrics.Sample
	gc     debug.GCStats
	seen   int64 // cycles whose pauses are listed
	statm  *os.File
	page   int64
	text   [128]byte // of statm
}

func startSampler(began time.Time, interval time.Duration) *sampler {
	s := &sampler{began: began, interval: interval, done: make(chan struct{}), stopped: make(chan struct{}),
		page: int64(os.Getpagesize())}
	for i, name := range []string{heapMetric, goalMetric, sysMetric, cyclesMetric} {
		s.values[i].Name = name
	}
	s.gc.Pause = make([]time.Duration, 0, 2*256+3) // ReadGCStats needs the size of the runtime's ring
	debug.ReadGCStats(&s.gc)
	s.seen = s.gc.NumGC
	s.statm, _ = os.Open("/proc/self/statm") // nil where there is none
	s.sample()
	go s.loop()
	return s
}

func (s *sampler) loop() {
	defer close(s.stopped)
	tick := time.NewTicker(s.interval)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-tick.C:
		}
		s.sample()
		if len(s.line.AtNs) >= maxSamples {
			s.thin()
			s.interval *= 2
			tick.Reset(s.interval)
		}
	}
}

// sample appends one row.
func (s *sampler) sample() {
	metrics.Read(s.values[:])
	var v [len(s.values)]int64
	for i := range s.values {
		v[i] = int64(min(s.values[i].Value.Uint64(), 1<<62))
	}
	heap, goal, sys, cycles := v[0], v[1], v[2], v[3]
	if goal >= cell.NoGoal {
		goal = 0
	}
	s.heap, s.goal, s.sys = max(s.heap, heap), max(s.goal, goal), max(s.sys, sys)
	l := &s.line
	l.AtNs = append(l.AtNs, int64(time.Since(s.began)))
	l.HeapBytes = append(l.HeapBytes, heap)
	l.GoalBytes = append(l.GoalBytes, goal)
	l.SysBytes = append(l.SysBytes, sys)
	l.Cycles = append(l.Cycles, cycles)
	if rss, ok := s.rss(); ok {
		l.RSSBytes = append(l.RSSBytes, rss)
	}
	if cycles > s.seen {
		s.readPauses()
	}
}

// readPauses lists the pauses of cycles since the last call. The runtime keeps 256 pauses, one
// per cycle: some are missing if cycles follow faster.
func (s *sampler) readPauses() {
	debug.ReadGCStats(&s.gc)
	fresh := min(int(s.gc.NumGC-s.seen), len(s.gc.Pause), maxPauses-len(s.pauses))
	for i := fresh - 1; i >= 0; i-- {
		s.pauses = append(s.pauses, cell.Pause{AtNs: int64(s.gc.PauseEnd[i].Sub(s.began)), Ns: int64(s.gc.Pause[i])})
	}
	s.seen = s.gc.NumGC
}

// rss reads the resident memory without allocating.
func (s *sampler) rss() (int64, bool) {
	if s.statm == nil {
		return 0, false
	}
	n, _ := s.statm.ReadAt(s.text[:], 0)
	_, rest, _ := bytes.Cut(s.text[:n], []byte(" ")) // size resident ..., in pages
	resident, _, _ := bytes.Cut(rest, []byte(" "))
	pages, err := strconv.ParseInt(string(resident), 10, 64)
	return pages * s.page, err == nil
}

// thin drops every other row.
func (s *sampler) thin() {
	l := &s.line
	for _, column := range []*[]int64{&l.AtNs, &l.HeapBytes, &l.GoalBytes, &l.SysBytes, &l.RSSBytes, &l.Cycles} {
		c := *column
		for i := 0; 2*i < len(c); i++ {
			c[i] = c[2*i]
		}
		*column = c[:(len(c)+1)/2]
	}
}

// stop ends sampling with a last row and moves the figures into rec.
func (s *sampler) stop(rec *cell.Record) {
	close(s.done)
	<-s.stopped
	s.sample()
	if s.statm != nil {
		s.statm.Close()
	}
	l := s.line
	if len(l.RSSBytes) != len(l.AtNs) {
		l.RSSBytes = nil // it sometimes failed
	}
	first := l.Cycles[0]
	for i := range l.Cycles {
		l.Cycles[i] -= first
	}
	rec.Set(cell.HeapMax, float64(s.heap))
	rec.Set(cell.SysMax, float64(s.sys))
	if s.goal > 0 {
		rec.Set(cell.GoalMax, float64(s.goal))
	} else {
		l.GoalBytes = nil
	}
	rec.Timeline, rec.Pauses = l, s.pauses
}
