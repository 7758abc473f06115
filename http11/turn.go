package http11

import (
	"fmt"
	"runtime"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/release"
)

// The word region.turn says which request its memory belongs to and who may
// touch it: the epoch, shifted left by two bits, and two flags.
//
// Each request has its own epoch, never reused in the same region. Every
// reference to a request (a Context, a Request, a View, a body reader) carries
// the epoch it was made in, and is refused if the word has another. The bit
// turnBusy excludes others: whoever sets it has the turn, and nobody else
// changes the region, its exchange or the word until it is cleared. The server
// keeps the turn while no handler runs. Reading needs no turn: a reader copies,
// then checks that the epoch is unchanged.
//
// Nobody holds the turn while waiting for a client: see exchange.pause.
const (
	turnBusy  = 1 // someone has the turn
	turnKept  = 2 // the handler has returned; a Retained keeps the request
	turnShift = 2
)

// epoch returns the current epoch.
func (r *region) epoch() uint64 { return r.turn.Load() >> turnShift }

// open begins an epoch and ends the server's turn.
func (r *region) open() uint64 {
	epoch := r.epoch() + 1
	release.Uint64(&r.turn, epoch<<turnShift)
	return epoch
}

// pass ends a turn.
func (r *region) pass() { release.Uint64(&r.turn, r.turn.Load()&^turnBusy) }

// reclaim waits for the turn, in any epoch.
func (r *region) reclaim() {
	for i := 0; ; i++ {
		if w := r.turn.Load(); w&turnBusy == 0 && r.turn.CompareAndSwap(w, w|turnBusy) {
			return
		}
		backOff(i)
	}
}

// tryReclaim takes the turn if it is free.
func (r *region) tryReclaim() bool {
	w := r.turn.Load()
	return w&turnBusy == 0 && r.turn.CompareAndSwap(w, w|turnBusy)
}

// enter waits for the turn in that epoch and reports false if the epoch has
// ended. A request that is only retained counts as ended unless kept.
func (r *region) enter(epoch uint64, kept bool) bool {
	for i := 0; ; i++ {
		w := r.turn.Load()
		if w>>turnShift != epoch || w&turnKept != 0 && !kept {
			return false
		}
		if w&turnBusy == 0 && r.turn.CompareAndSwap(w, w|turnBusy) {
			return true
		}
		backOff(i)
	}
}

// backOff lets the holder of the turn finish, which usually takes nanoseconds.
func backOff(i int) {
	switch {
	case i < 4:
	case i < 64:
		runtime.Gosched()
	default:
		time.Sleep(min(time.Duration(i)*time.Microsecond, time.Millisecond))
	}
}

// late counts a use of an ended request and returns the error for it.
func (r *region) late(op string) error {
	r.memory.late.Add(1)
	where := ""
	if invariant.Enabled {
		where = places.describe(r)
	}
	return fmt.Errorf("http11: %s: %w%s", op, ErrEnded, where)
}
