package gcctl

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// document is the controller of seed document 000, step 7, as it stands there
// but for its logger. It is a peer: its faults are kept. DisableGC waits for a
// mark phase that is running; ForceGC beside EnableGC can leave the collector
// off for good; the percentage that it found is not what New leaves in force.
type document struct {
	originalPercent  int           // value returned by debug.SetGCPercent at start
	forceGCInterval  time.Duration // time between forced collections
	disabledCount    atomic.Int32  // outstanding DisableGC calls
	lastGCUnixTimeNs atomic.Int64  // end of the last forced collection
	gcTicker         *time.Ticker
	cancel           context.CancelFunc
}

func newDocument(force time.Duration) *document {
	c := &document{
		originalPercent: debug.SetGCPercent(100), // start with default, but remember it
		forceGCInterval: force,
	}
	c.lastGCUnixTimeNs.Store(time.Now().UnixNano())
	return c
}

// DisableGC turns the collector off on the first call.
func (c *document) DisableGC() {
	if c.disabledCount.Add(1) == 1 {
		debug.SetGCPercent(-1)
	}
}

// EnableGC turns it on again once the count is zero.
func (c *document) EnableGC() {
	if c.disabledCount.Add(-1) == 0 {
		debug.SetGCPercent(c.originalPercent)
	}
}

// ForceGC enables the collector, collects, and returns to the state before.
func (c *document) ForceGC() {
	wasDisabled := c.disabledCount.Load() > 0
	if wasDisabled {
		debug.SetGCPercent(c.originalPercent)
	}
	runtime.GC()
	c.lastGCUnixTimeNs.Store(time.Now().UnixNano())
	if wasDisabled {
		debug.SetGCPercent(-1)
	}
}

// StartScheduledGC forces a collection at each interval.
func (c *document) StartScheduledGC(ctx context.Context) {
	if c.gcTicker != nil {
		return
	}
	ctx, c.cancel = context.WithCancel(ctx)
	c.gcTicker = time.NewTicker(c.forceGCInterval)
	go func(ticker *time.Ticker) {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				c.ForceGC()
			case <-ctx.Done():
				return
			}
		}
	}(c.gcTicker)
}

// StopScheduledGC ends that.
func (c *document) StopScheduledGC() {
	if c.cancel == nil {
		return
	}
	c.cancel()
	c.cancel = nil
}
