package http11

import (
	"sync/atomic"
	"time"
)

// loopTick is how often the watch looks at the loops. Each look costs some
// microseconds of CPU time.
const loopTick = 10 * time.Millisecond

// A watch finds loops of the engine Readiness with a slow handler and starts
// another goroutine to serve the other connections. It sleeps while all loops
// do.
type watch struct {
	srv  *Server
	rest atomic.Bool   // set by the watch, cleared by whoever wakes it
	wake chan struct{} // has a token if rest was cleared
	stop chan struct{} // closed when the server has ended

	held  atomic.Uint64 // loops that were held; publishes nothing
	loops loopWatch     // owned by the watch
}

// A watchTest is how a test controls a watch.
type watchTest struct {
	unwatched bool   // the watch does nothing
	onWatch   func() // called first on the watch's goroutine, if set
}

func newWatch(s *Server) *watch {
	w := &watch{srv: s, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	if !s.unwatched {
		go w.run()
	}
	return w
}

// rouse wakes the watch if it rests.
func (w *watch) rouse() {
	if w.rest.Load() && w.rest.CompareAndSwap(true, false) {
		w.wake <- struct{}{}
	}
}

func (w *watch) run() {
	if w.srv.onWatch != nil {
		w.srv.onWatch()
	}
	timer := time.NewTimer(loopTick)
	defer timer.Stop()
	for {
		rest := !w.loops.look(w, time.Now())
		if rest {
			timer.Stop()
			w.rest.Store(true)
			// Whoever begins work from here on wakes it.
			if w.loops.any(w) && w.rest.CompareAndSwap(true, false) {
				rest = false
			}
		}
		if !rest {
			timer.Reset(loopTick)
		}
		select {
		case <-timer.C:
		case <-w.wake:
		case <-w.stop:
			return
		}
	}
}
