package coherence

// A Subject is a structure whose cost on many CPUs is predicted, under the name
// of its benchmark in this module and as one implementation of it.
type Subject struct {
	Bench, Impl string
	Backlog     string               // its name in BenchmarkBacklog of its package; empty for none
	queue       func(*Machine) queue // of a benchmark that hands values over
	wakes       bool                 // its consumer sleeps when it finds nothing
	round       func(*Machine) round // of a benchmark in which every CPU does the same
	apart       bool                 // runs on goroutines of its own, where TestLocked does not trace
}

// Subjects are in the order of a page, ours before its peers.
var Subjects = []Subject{
	{Bench: mpscBench, Impl: "isobar", Backlog: "isobar", queue: mpsc(4)},
	{Bench: mpscBench, Impl: "isobar-ring", Backlog: "isobar-ring", queue: mpscRing},
	{Bench: mpscBench, Impl: "xsync-mpmc", Backlog: "xsync-mpmc", queue: xsyncMPMC(window)},
	{Bench: mpscBench, Impl: "xsync-umpsc", Backlog: "xsync-umpsc", queue: xsyncUMPSC},
	{Bench: mpscBench, Impl: "mutex-slice", Backlog: "mutex-slice", queue: mutexSlice},
	{Bench: mpscBench, Impl: "channel", Backlog: "channel", queue: channel(window)},
	{Bench: spscBench, Impl: "isobar", Backlog: "isobar-spsc", queue: spscRing},
	{Bench: spscBench, Impl: "channel", Backlog: "channel", queue: channel(window)},
	{Bench: submitBench, Impl: "isobar", queue: mpsc(3), wakes: true},
	{Bench: submitBench, Impl: "channel", queue: channel(window)},
	{Bench: "pool.Retaining/burst=1", Impl: "isobar", round: own},
	{Bench: "pool.Retaining/burst=1", Impl: "syncpool", round: own},
	{Bench: "pool.Bounded/burst=1", Impl: "isobar", round: own},
	{Bench: "pool.Bounded/burst=1", Impl: "syncpool", round: own},
	{Bench: "pool.Bounded/burst=1", Impl: "channel", round: channelPool},
	{Bench: "pool.Bounded/burst=1", Impl: "xsync", round: xsyncPool},
	{Bench: "recorder.RecordParallel", Impl: "isobar", round: own},
	{Bench: "recorder.RecordParallel", Impl: "hdrhistogram-go-mutex", round: hdrMutex},
	{Bench: requestsBench, Impl: "isobar", round: own, apart: true},
	{Bench: requestsBench, Impl: "isobar-idle", round: own, apart: true},
	{Bench: requestsBench, Impl: "fasthttp", round: own, apart: true},
}

const (
	mpscBench   = "queue.MPSC"
	spscBench   = "queue.SPSC/batch=1"
	submitBench = "eventloop.Submit"

	requestsBench = "http11.Requests/request=get-4-headers"
)

// Name is the benchmark's name with that many CPUs, without the implementation: a
// producer for each CPU but one.
func (s Subject) Name(cpus int) string {
	switch {
	case s.Bench != mpscBench && s.Bench != submitBench:
		return s.Bench
	case cpus > 2:
		return s.Bench + "/producers=rest"
	}
	return s.Bench + "/producers=1"
}

// A Work is what the instructions take that touch nothing shared, in ns: those
// of a push and a take, or of half a round each.
type Work struct{ Push, Take float64 }

// Calibrate returns the work that makes the simulation cost on one CPU what was
// measured there: all, of which push is the push's.
func (s Subject) Calibrate(costs Costs, all, push float64) Work {
	if s.round != nil {
		rest := max(0, all-s.Predict(costs, Work{}, 1))
		return Work{rest / 2, rest / 2}
	}
	simulated := s.split(costs)
	return Work{max(0, push-simulated.Push), max(0, all-push-simulated.Take)}
}

// split simulates one CPU that pushes a window of values and then takes them,
// without work.
func (s Subject) split(costs Costs) (w Work) {
	m := NewMachine(costs, 1)
	q := s.queue(m)
	m.Run(func(c *CPU) {
		const rounds = 4
		for range rounds {
			began := c.now
			for range window {
				q.push(c, 0)
			}
			filled := c.now
			for got := 0; got < window; {
				got += q.take(c, 256, 0)
			}
			w.Push += (filled - began) / (rounds * window)
			w.Take += (c.now - filled) / (rounds * window)
		}
	})
	return w
}

// Predict returns what an operation of the benchmark costs in ns of elapsed time:
// a value handed over, or a round on any of the CPUs.
func (s Subject) Predict(costs Costs, work Work, cpus int) float64 {
	if s.round == nil && cpus == 1 {
		w := s.split(costs)
		return w.Push + w.Take + work.Push + work.Take
	}
	ns, _ := s.simulate(costs, work, cpus)
	return ns
}

// Moves returns what one operation on two or more CPUs moves.
func (s Subject) Moves(costs Costs, work Work, cpus int) Moves {
	_, moves := s.simulate(costs, work, cpus)
	return moves
}

// simulate returns the elapsed time of one operation, and what it moves.
func (s Subject) simulate(costs Costs, work Work, cpus int) (ns float64, moves Moves) {
	m := NewMachine(costs, cpus)
	var end, operations float64
	if s.round != nil {
		rounds := max(200, 10_000/cpus)
		r := s.round(m)
		end, operations = m.Run(func(c *CPU) {
			for range rounds {
				r(c, work)
			}
		}), float64(rounds*cpus)
	} else {
		if s.Bench == spscBench {
			cpus = 2
		}
		end, operations = s.handOver(m, work, cpus-1)
	}
	moves = Moves{m.moves.Waited / operations, m.moves.Ahead / operations, 0}
	for _, c := range m.cpus {
		moves.Locked += float64(c.locked) / operations
	}
	return end / operations, moves
}

// A handOver is the loop of the benchmarks: producers keep a window of values in
// flight, of which they look at the count of those taken every 64 values.
type handOver struct {
	queue
	work          Work
	wakes         bool
	producers     int
	each          int // values of a producer
	taken, asleep *Word
}

func (s Subject) handOver(m *Machine, work Work, producers int) (end, values float64) {
	h := &handOver{
		queue: s.queue(m), work: work, wakes: s.wakes, producers: producers,
		each:  max(64, 16_000/producers/64*64),
		taken: &m.Line(1)[0], asleep: &m.Line(1)[0],
	}
	end = m.Run(func(c *CPU) {
		switch {
		case c.id == 0:
			h.consume(c)
		case c.id <= producers:
			h.produce(c)
		}
	})
	return end, float64(h.each * producers)
}

func (h *handOver) consume(c *CPU) {
	for got := 0; got < h.each*h.producers; {
		n := h.take(c, 256, h.work.Take)
		if n == 0 && h.wakes {
			n = h.rest(c)
		}
		if n == 0 {
			c.Work(c.m.costs.Yield)
			continue
		}
		got += n
		c.Swap(h.taken, uint64(got))
	}
}

// rest sleeps until a producer wakes the consumer, unless there is something
// after all, of which it returns how much.
func (h *handOver) rest(c *CPU) int {
	c.Swap(h.asleep, 1)
	if n := h.take(c, 256, h.work.Take); n > 0 {
		c.CAS(h.asleep, 1, 0)
		return n
	}
	for c.Load(h.asleep) != 0 {
		c.Work(c.m.costs.Yield)
	}
	return 0
}

func (h *handOver) produce(c *CPU) {
	for i := 1; i <= h.each; i++ {
		for !h.push(c, h.work.Push) {
			c.Work(c.m.costs.Yield)
		}
		if h.wakes && c.Load(h.asleep) != 0 && c.CAS(h.asleep, 1, 0) {
			c.Work(c.m.costs.Yield)
		}
		if i%64 == 0 {
			for int64(i*h.producers)-int64(c.Load(h.taken)) > window {
				c.Work(c.m.costs.Yield)
			}
		}
	}
}

// A round is one operation of a benchmark that every CPU does.
type round func(c *CPU, work Work)

// own touches nothing that another CPU writes: a pool's bin or private object
// of a P, the recorder's shard of one, a server's connection. TestPadding and
// BenchmarkPadding of those packages hold the lines apart.
func own(m *Machine) round {
	lines := separate(m, len(m.cpus))
	return func(c *CPU, work Work) {
		c.Store(lines[c.id], 1)
		c.Work(work.Push + work.Take)
	}
}

// channelPool takes an object from a channel and returns it: as many objects
// as CPUs, each with a line that its holder writes.
func channelPool(m *Machine) round {
	lock, fields, slots := &m.Line(1)[0], &m.Line(1)[0], m.Stream(len(m.cpus), 8)
	idle := separate(m, len(m.cpus))
	return func(c *CPU, work Work) {
		for {
			c.Lock(lock)
			c.Load(fields)
			if len(idle) > 0 {
				break
			}
			c.Unlock(lock)
			c.Work(c.m.costs.Yield)
		}
		x := idle[0]
		idle = idle[1:]
		c.Work(work.Take)
		c.Load(&slots[c.id])
		c.Store(fields, 0)
		c.Unlock(lock)
		c.Store(x, 1)
		c.Lock(lock)
		c.Load(fields)
		c.Work(work.Push)
		c.Store(&slots[c.id], 1)
		c.Store(fields, 0)
		idle = append(idle, x)
		c.Unlock(lock)
	}
}

// xsyncPool is the same over an MPMCQueue with room for twice as many, which
// waits for nobody.
func xsyncPool(m *Machine) round {
	q := xsyncMPMC(uint64(2 * len(m.cpus)))(m)
	idle := separate(m, len(m.cpus))
	filled := false
	return func(c *CPU, work Work) {
		if !filled {
			filled = true
			for range m.cpus {
				q.push(c, 0)
			}
		}
		x := &m.Line(1)[0]
		if q.take(c, 1, work.Take) == 1 && len(idle) > 0 {
			x, idle = idle[0], idle[1:]
		}
		c.Store(x, 1)
		if q.push(c, work.Push) {
			idle = append(idle, x)
		}
	}
}

// separate returns n words, each in a line of its own.
func separate(m *Machine, n int) (words []*Word) {
	for range n {
		words = append(words, &m.Line(1)[0])
	}
	return words
}

// hdrMutex is a histogram behind a mutex: a total in its line, and one of the
// lines of counts.
func hdrMutex(m *Machine) round {
	shared, counts, next := m.Line(2), separate(m, 64), 0
	return func(c *CPU, work Work) {
		c.Lock(&shared[0])
		next = (next*5 + 1) % len(counts)
		c.Store(counts[next], 1)
		c.Store(&shared[1], 1)
		c.Work(work.Push + work.Take)
		c.Unlock(&shared[0])
	}
}
