package monitor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// A Process identifies the process that a page shows. Unknown fields are zero.
type Process struct {
	Program string `json:"program"`
	Host    string `json:"host"`
	Go      string `json:"go"` // version
	PID     int    `json:"pid"`
	Procs   int    `json:"procs"` // GOMAXPROCS
}

// RelayConfig configures a Monitor of another process.
type RelayConfig struct {
	Process Process
	Figures []Figure
	// Interval is the usual time between samples, and History is how far back the
	// page goes; 0 is as in [Config].
	Interval, History time.Duration
}

// NewRelay returns a Monitor that does not sample. It shows the figures of
// another process, passed to it through [Monitor.Add].
func NewRelay(c RelayConfig) (*Monitor, error) {
	c.Interval, c.History = defaults(c.Interval, c.History)
	if len(c.Figures) == 0 {
		return nil, errors.New("monitor: NewRelay: no figures")
	}
	m := &Monitor{
		interval: c.Interval, begun: time.Now(), figures: c.Figures, relay: &c.Process,
		end: make(chan struct{}), done: make(chan struct{}), viewers: make(map[chan struct{}]struct{}),
	}
	if _, err := m.table(c.History); err != nil {
		return nil, fmt.Errorf("monitor: NewRelay: %w", err)
	}
	close(m.done)
	return m, nil
}

// Add gives a relay its next sample, one value for each of Figures; NaN means
// no value. On a Monitor of this process it returns an error.
func (m *Monitor) Add(at time.Time, values []float64) error {
	switch {
	case m.relay == nil:
		return errors.New("monitor: Add: this Monitor samples its own process; make one with NewRelay")
	case len(values) != len(m.figures):
		return fmt.Errorf("monitor: Add: got %d values; want one for each of %d figures", len(values), len(m.figures))
	}
	m.add(at, values)
	return nil
}

// process returns the process that the figures describe.
func (m *Monitor) process() Process {
	if m.relay != nil {
		return *m.relay
	}
	host, _ := os.Hostname()
	return Process{Program: filepath.Base(os.Args[0]), Host: host, Go: runtime.Version(), PID: os.Getpid(),
		Procs: runtime.GOMAXPROCS(0)}
}

func defaults(interval, history time.Duration) (time.Duration, time.Duration) {
	return cmp.Or(interval, time.Second), cmp.Or(history, 10*time.Minute)
}
