package live

import (
	"context"
	"math"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/monitor"
)

// A Relay is the page of package monitor with the samples of another process. A process
// that restarts gets its own page, and browsers switch to it by themselves. Add, Gap and
// Close belong to one goroutine; others may be called concurrently.
type Relay struct {
	interval time.Duration
	last     atomic.Pointer[monitor.Monitor] // publishes the page of the newest epoch
	trouble  atomic.Pointer[string]          // publishes why there is no sample now

	epoch int // owned by the goroutine that adds
	lost  bool
}

// NewRelay returns a page that expects a sample each interval.
func NewRelay(interval time.Duration) *Relay { return &Relay{interval: interval} }

// Follow relays a process until ctx ends, even while there is no process.
func Follow(ctx context.Context, target string, interval time.Duration) (*Relay, error) {
	p, c := NewRelay(interval), Config{Interval: interval}
	feed, err := Open(target, c)
	if err != nil {
		return nil, err
	}
	go func() {
		defer p.Close()
		for {
			if err == nil {
				err = Each(ctx, feed, c, p.Gap, func(s Sample) bool { return p.Add(s) == nil })
				feed.Close()
			}
			why := "the process has ended; waiting for the next one"
			if err != nil {
				why = err.Error() + "; trying again"
			}
			p.Gap(why)
			if !await(ctx, 2*interval) {
				return
			}
			feed, err = Open(target, c)
			p.epoch = -1 // the feed restarts its count of processes
		}
	}()
	return p, nil
}

// State says what is wrong, "" if nothing.
func (p *Relay) State() string {
	if t := p.trouble.Load(); t != nil {
		return *t
	}
	return ""
}

// ServeHTTP serves the process's page, or says why there is none.
func (p *Relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := p.last.Load()
	if m == nil {
		http.Error(w, text.Clean("No sample so far. "+p.State()+" Reload this page when the process runs."),
			http.StatusServiceUnavailable)
		return
	}
	m.ServeHTTP(w, r)
}

// Add shows a sample. A new epoch gets a new page.
func (p *Relay) Add(s Sample) error {
	m := p.last.Load()
	if m == nil || p.epoch != s.Epoch {
		next, err := monitor.NewRelay(monitor.RelayConfig{Process: s.Process, Figures: s.Figures, Interval: p.interval})
		if err != nil {
			return err
		}
		p.last.Store(next)
		p.epoch = s.Epoch
		if m != nil {
			m.Close() // its viewers switch to the next
		}
		m = next
	}
	p.lost = false
	p.trouble.Store(nil)
	return m.Add(s.At, s.Values)
}

// Gap makes the charts show a gap, and keeps the reason.
func (p *Relay) Gap(why string) {
	p.trouble.Store(&why)
	m := p.last.Load()
	if m == nil || p.lost {
		return
	}
	p.lost = true
	m.Add(time.Now(), slices.Repeat([]float64{math.NaN()}, len(m.Figures())))
}

// Close ends the page; its viewers keep what they have received.
func (p *Relay) Close() {
	if m := p.last.Load(); m != nil {
		m.Close()
	}
}
