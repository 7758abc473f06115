package coherence

// Lock waits for a mutex or a lock of the runtime by looking again and again. The
// real ones sleep after four looks.
func (c *CPU) Lock(w *Word) {
	for !c.CAS(w, 0, 1) {
		for c.Load(w) != 0 {
			c.Work(c.m.costs.Pause)
		}
	}
}

// Unlock ends what Lock began.
func (c *CPU) Unlock(w *Word) { c.Swap(w, 0) }

// A queue is for values from CPUs 1 and up to CPU 0. push returns false if there
// is no room; take removes up to most values. Both spend work ns on each value.
type queue struct {
	push func(c *CPU, work float64) bool
	take func(c *CPU, most int, work float64) int
}

const (
	window   = 8192 // values in flight, as in the benchmarks
	retained = 2 * window
)

// mpsc is queue.MPSC with per slots to a cache line.
func mpsc(per int) func(*Machine) queue {
	const chunk = 512
	return func(m *Machine) queue {
		ends := m.Line(2) // tail and hint
		tail, hint := &ends[0], &ends[1]
		slots := m.Stream(retained, per)
		head := uint64(0) // the consumer's own
		return queue{
			push: func(c *CPU, work float64) bool {
				t := c.Add(tail, 1) - 1
				c.Load(hint)
				if t%chunk == 0 && t > 0 {
					c.CAS(hint, c.Load(hint), t)
				}
				c.Work(work)
				s := &slots[t%retained]
				c.Store(s, 0)
				c.Swap(s, 1)
				return true
			},
			take: func(c *CPU, most int, work float64) int {
				for n := range most {
					s := &slots[head%retained]
					if c.Load(s) == 0 {
						return n
					}
					c.Work(work)
					c.Store(s, 0)
					if head++; head%chunk == 0 {
						c.CAS(hint, head-1, head)
						c.Load(tail)
					}
				}
				return most
			},
		}
	}
}

// mpscRing is queue.MPSCRing.
func mpscRing(m *Machine) queue {
	ends, other := m.Line(2), m.Line(1)
	tail, limit, released := &ends[0], &ends[1], &other[0]
	limit.v = window
	slots := m.Stream(window, 4)
	head := uint64(0)
	return queue{
		push: func(c *CPU, work float64) bool {
			t := c.Load(tail)
			for {
				if limit := c.Load(limit); t >= limit {
					limit = c.Load(released) + window
					if t >= limit {
						return false
					}
					c.Swap(&ends[1], limit)
				}
				if c.CAS(tail, t, t+1) {
					break
				}
				t = c.Load(tail)
			}
			c.Work(work)
			s := &slots[t%window]
			c.Store(s, 0)
			c.Swap(s, 1)
			return true
		},
		take: func(c *CPU, most int, work float64) int {
			n := 0
			for ; n < most && c.Load(&slots[head%window]) != 0; n++ {
				c.Work(work)
				c.Store(&slots[head%window], 0)
				head++
			}
			if n > 0 {
				c.Swap(released, head)
			}
			return n
		},
	}
}

// spscRing is queue.SPSCRing.
func spscRing(m *Machine) queue {
	tail, head := &m.Line(1)[0], &m.Line(1)[0]
	slots := m.Stream(window, 8)
	var pushed, popped, tailSeen, headSeen uint64
	return queue{
		push: func(c *CPU, work float64) bool {
			if pushed-headSeen == window {
				if headSeen = c.Load(head); pushed-headSeen == window {
					return false
				}
			}
			c.Work(work)
			c.Store(&slots[pushed%window], 1)
			pushed++
			c.Swap(tail, pushed)
			return true
		},
		take: func(c *CPU, most int, work float64) int {
			if tailSeen-popped < uint64(most) {
				tailSeen = c.Load(tail)
			}
			n := min(most, int(tailSeen-popped))
			for range n {
				c.Load(&slots[popped%window])
				c.Work(work)
				c.Store(&slots[popped%window], 0)
				popped++
			}
			if n > 0 {
				c.Swap(head, popped)
			}
			return n
		},
	}
}

// xsyncMPMC is xsync.MPMCQueue with size slots, each more than a line long: a
// number says whose turn a slot is.
func xsyncMPMC(size uint64) func(*Machine) queue {
	return func(m *Machine) queue {
		head, tail := &m.Line(1)[0], &m.Line(1)[0]
		slots := m.Stream(int(size), 1)
		turn := func(c *CPU, at *Word, work float64, odd uint64) bool {
			i := c.Load(at)
			s, want := &slots[i%size], i/size*2+odd
			if c.Load(s) != want || !c.CAS(at, i, i+1) {
				return false
			}
			c.Work(work)
			c.Store(s, want)
			c.Swap(s, want+1)
			return true
		}
		return queue{
			push: func(c *CPU, work float64) bool { return turn(c, head, work, 0) },
			take: func(c *CPU, most int, work float64) int {
				for n := range most {
					if !turn(c, tail, work, 1) {
						return n
					}
				}
				return most
			},
		}
	}
}

// xsyncUMPSC is xsync.UMPSCQueue: a WaitGroup for each value, in segments of
// 4096 that whoever takes the first place of one prepares.
func xsyncUMPSC(m *Machine) queue {
	const segment, all = 4096, 4 * 4096
	index, slots := &m.Line(1)[0], m.Stream(all, 2)
	prepare := func(c *CPU, from uint64) {
		for i := range uint64(segment) {
			if c == nil {
				slots[from+i].v = 1
			} else {
				c.Add(&slots[(from+i)%all], 1)
			}
		}
	}
	prepare(nil, 0)
	head := uint64(0)
	return queue{
		push: func(c *CPU, work float64) bool {
			i := c.Add(index, 1) - 1
			c.Work(work)
			c.Store(&slots[i%all], 1)
			c.Add(&slots[i%all], ^uint64(0))
			if i%segment == 0 {
				prepare(c, i+segment)
			}
			return true
		},
		take: func(c *CPU, most int, work float64) int { // one at a time
			if c.Load(&slots[head%all]) != 0 {
				return 0
			}
			c.Work(work)
			head++
			return 1
		},
	}
}

// mutexSlice is a slice behind a mutex, in the cache line of the mutex; the
// consumer swaps it for an empty one.
func mutexSlice(m *Machine) queue {
	shared := m.Line(2)
	mu, fields := &shared[0], &shared[1]
	in, out := m.Stream(retained, 8), m.Stream(retained, 8)
	filled, full, at := 0, 0, 0
	return queue{
		push: func(c *CPU, work float64) bool {
			c.Lock(mu)
			c.Load(fields)
			c.Work(work)
			c.Store(&in[filled], 1)
			c.Store(fields, 0)
			filled++
			c.Unlock(mu)
			return true
		},
		take: func(c *CPU, most int, work float64) int {
			c.Load(fields)
			if at == full {
				for i := range full {
					c.Store(&out[i], 0)
				}
				c.Lock(mu)
				c.Store(fields, 0)
				in, out, full, filled, at = out, in, filled, 0, 0
				c.Unlock(mu)
			}
			n := min(most, full-at)
			for range n {
				c.Load(&out[at])
				c.Work(work)
				at++
			}
			c.Store(fields, 0)
			return n
		},
	}
}

// channel is a channel of size values. Its lock lies in one line, count and
// indexes in another.
func channel(size int) func(*Machine) queue {
	return func(m *Machine) queue {
		lock, fields := &m.Line(1)[0], &m.Line(1)[0]
		slots := m.Stream(size, 8)
		sent, received := 0, 0
		return queue{
			push: func(c *CPU, work float64) bool {
				c.Lock(lock)
				defer c.Unlock(lock)
				c.Load(fields)
				if sent-received == size {
					return false
				}
				c.Work(work)
				c.Store(&slots[sent%size], 1)
				c.Store(fields, 0)
				sent++
				return true
			},
			take: func(c *CPU, most int, work float64) int {
				for n := range most {
					if c.Load(fields); sent == received {
						return n
					}
					c.Lock(lock)
					c.Load(fields)
					got := sent > received // others may take, too
					if got {
						c.Work(work)
						c.Load(&slots[received%size])
						c.Store(&slots[received%size], 0)
						c.Store(fields, 0)
						received++
					}
					c.Unlock(lock)
					if !got {
						return n
					}
				}
				return most
			},
		}
	}
}
