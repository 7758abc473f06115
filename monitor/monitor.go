package monitor

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"
)

// Config configures a [Monitor]. The zero value is ready to use.
type Config struct {
	// Interval is the time between samples. 0 means one second; less than 100 ms
	// is an error.
	Interval time.Duration
	// History is how far back the page goes; 0 means ten minutes.
	History time.Duration
	// Sources provide figures in addition to the runtime's.
	Sources []Source
	// Alarms are the conditions that save a flight recording.
	Alarms []Alarm
}

// maxHistoryBytes limits the size of the sample table.
const maxHistoryBytes = 16 << 20

// A Monitor samples the process until it is closed. Make one with [New]; it
// must not be copied.
type Monitor struct {
	interval time.Duration
	sources  []Source
	figures  []Figure       // constant
	flight   *flight        // nil without alarms
	relay    *Process       // constant: the process shown; nil for this process
	own      *runtimeReader // nil in a relay
	end      chan struct{}
	done     chan struct{}
	once     sync.Once
	begun    time.Time

	row []float64 // owned by the sampling goroutine

	mu      sync.Mutex // guards everything below
	times   []int64    // ms since 1970; sample k is at k % len(times)
	values  []float64  // rows of len(figures), in the same order
	samples uint64     // number taken; the last one is samples-1
	viewers map[chan struct{}]struct{}
	closed  bool
}

// New returns a Monitor and starts sampling.
func New(c Config) (*Monitor, error) {
	c.Interval, c.History = defaults(c.Interval, c.History)
	source, own := newRuntime()
	m := &Monitor{
		interval: c.Interval, begun: time.Now(), sources: append([]Source{source}, c.Sources...), own: own,
		end: make(chan struct{}), done: make(chan struct{}), viewers: make(map[chan struct{}]struct{}),
	}
	for _, s := range m.sources {
		if s.Read == nil || len(s.Figures) == 0 {
			return nil, errors.New("monitor: New: a source has no Read or no figures")
		}
		m.figures = append(m.figures, s.Figures...)
	}
	index, err := m.table(c.History)
	if err != nil {
		return nil, fmt.Errorf("monitor: New: %w", err)
	}
	m.row = make([]float64, len(m.figures))
	if len(c.Alarms) > 0 {
		if m.flight, err = newFlight(c.Alarms, m.figures, index); err != nil {
			return nil, fmt.Errorf("monitor: New: %w", err)
		}
	}
	own.statm, _ = os.Open("/proc/self/statm")
	m.sample(time.Now())
	go m.run()
	return m, nil
}

// table makes the sample table and returns each figure's column.
func (m *Monitor) table(history time.Duration) (index map[string]int, err error) {
	index = make(map[string]int, len(m.figures))
	for i, f := range m.figures {
		if err := f.check(); err != nil {
			return nil, err
		}
		if _, twice := index[f.Key]; twice {
			return nil, fmt.Errorf("two figures share the key %s; give the sources different names", f.Key)
		}
		index[f.Key] = i
	}
	if m.interval < 100*time.Millisecond {
		return nil, fmt.Errorf("the Interval %v is too short; want at least 100ms", m.interval)
	}
	kept := int64(history / m.interval)
	switch {
	case kept < 2:
		return nil, fmt.Errorf("the History %v is too short; want at least two intervals of %v", history, m.interval)
	case kept*int64(len(m.figures)+1)*8 > maxHistoryBytes:
		return nil, fmt.Errorf("a History of %v every %v with %d figures needs more than %d MiB; "+
			"shorten it or sample less often",
			history, m.interval, len(m.figures), maxHistoryBytes>>20)
	}
	m.times = make([]int64, kept)
	m.values = make([]float64, int(kept)*len(m.figures))
	return index, nil
}

func (m *Monitor) run() {
	defer close(m.done)
	tick := time.NewTicker(m.interval)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			m.sample(now)
		case <-m.end:
			return
		}
	}
}

// turn is held while sources are read: two Monitors may have one in common.
var turn sync.Mutex

// sample takes one sample and notifies the viewers.
func (m *Monitor) sample(now time.Time) {
	rest := m.row
	turn.Lock()
	for _, s := range m.sources {
		n := len(s.Figures)
		s.Read(rest[:n:n])
		rest = rest[n:]
	}
	turn.Unlock()
	m.add(now, m.row)
	if m.flight != nil {
		m.flight.look(now, m.row)
	}
}

// add stores a sample.
func (m *Monitor) add(now time.Time, row []float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := int(m.samples % uint64(len(m.times)))
	m.times[k] = now.UnixMilli()
	copy(m.values[k*len(m.figures):], row)
	m.samples++
	for v := range m.viewers {
		select {
		case v <- struct{}{}:
		default: // a notice is still pending; the viewer will read both samples
		}
	}
}

// Close ends sampling and the streams to viewers. The page still shows the
// history. Close may be called again.
func (m *Monitor) Close() error {
	m.once.Do(func() {
		close(m.end)
		<-m.done
		m.mu.Lock()
		m.closed = true
		for v := range m.viewers {
			close(v)
		}
		clear(m.viewers)
		m.mu.Unlock()
		if m.flight != nil {
			m.flight.close()
		}
		if m.own != nil {
			m.own.statm.Close()
		}
	})
	return nil
}

// Figures returns the figures of a sample: the runtime's, then those of the
// sources. The caller must not change the slice.
func (m *Monitor) Figures() []Figure { return m.figures }

// Last stores the newest sample in values, one for each of Figures, and returns
// when it was taken.
func (m *Monitor) Last(values []float64) (time.Time, error) {
	if len(values) != len(m.figures) {
		return time.Time{}, fmt.Errorf("monitor: Last: got %d values; want one for each of %d figures", len(values),
			len(m.figures))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.samples == 0 { // in a Relay
		return time.Time{}, errors.New("monitor: Last: no sample yet")
	}
	k := int((m.samples - 1) % uint64(len(m.times)))
	copy(values, m.values[k*len(m.figures):])
	return time.UnixMilli(m.times[k]), nil
}

// from appends to b the rows still kept from number k on, as JSON arrays that
// begin with the time, and returns the number after the last one.
func (m *Monitor) from(k uint64, b []byte) ([]byte, uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := uint64(len(m.times))
	if m.samples > n {
		k = max(k, m.samples-n)
	}
	for first := k; k < m.samples; k++ {
		if k > first {
			b = append(b, ',')
		}
		i := int(k % n)
		b = appendRow(b, m.times[i], m.values[i*len(m.figures):(i+1)*len(m.figures)])
	}
	return b, m.samples
}

// watch registers a viewer: news receives a value when there are new samples,
// until leave is called. Closing the monitor closes the channel.
func (m *Monitor) watch() (news chan struct{}, leave func()) {
	news = make(chan struct{}, 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		close(news)
		return news, func() {}
	}
	m.viewers[news] = struct{}{}
	return news, func() {
		m.mu.Lock()
		delete(m.viewers, news)
		m.mu.Unlock()
	}
}

// Quantiles of an empty histogram and missing limits are NaN.
func number(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
