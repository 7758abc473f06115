package http11

import (
	"bytes"
	"context"
	"log/slog"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"
)

// A loopWatch finds loops whose leader has not returned from a turn.
type loopWatch struct {
	seen   []loopSeen
	busy   bool            // at the last look
	last   time.Time       // of the last look
	logged map[string]bool // places
	next   time.Time       // when stacks may be examined again
}

// A loopSeen is the state of a loop at a look.
type loopSeen struct {
	turns  uint64
	parked bool
	stuck  int // looks without a new turn
}

// patience is how many looks without a new turn suffice in any case.
const patience = 20

// any reports whether a loop is working.
func (v *loopWatch) any(w *watch) bool {
	for _, l := range w.srv.loopList() {
		if !l.parked.Load() {
			return true
		}
	}
	return false
}

// look replaces leaders that have been in one turn since the last look, and
// reports whether any loop was working. It looks once per loopTick. If the
// watch itself was late, or a thread waits for a CPU, the loops may have had no
// CPU either: such a look does not count, up to patience looks.
func (v *loopWatch) look(w *watch, now time.Time) bool {
	since := now.Sub(v.last)
	if since < loopTick {
		return v.busy || v.any(w)
	}
	v.last, v.busy = now, false
	loops := w.srv.loopList()
	if v.seen == nil {
		v.seen = make([]loopSeen, len(loops))
	}
	for i, l := range loops {
		is, was := loopSeen{turns: l.turns.Load(), parked: l.parked.Load()}, v.seen[i]
		if is.turns == was.turns && !is.parked && !was.parked {
			is.stuck = was.stuck + 1
			sure := since < 2*loopTick && !shortOfCPU() && l.turns.Load() == is.turns
			if sure || is.stuck > patience {
				v.held(w, l)
			}
		}
		v.seen[i] = is
		v.busy = v.busy || is.turns != was.turns || !is.parked
	}
	return v.busy
}

// held makes another goroutine lead the loop.
func (v *loopWatch) held(w *watch, l *loop) {
	s := l.serving.Load()
	if s == nil || s.state.Load() != leading {
		return
	}
	label := l.label.Load()
	s.leave()
	w.held.Add(1)
	if now := time.Now(); now.After(v.next) && len(v.logged) < maxPlaces {
		v.next = now.Add(time.Second)
		v.report(stackOf(label))
	}
}

// maxPlaces bounds the logged places.
const maxPlaces = 64

// report logs a place once.
func (v *loopWatch) report(stack string) {
	place := placeOf(stack)
	if stack == "" || v.logged[place] {
		return
	}
	if v.logged == nil {
		v.logged = map[string]bool{}
	}
	v.logged[place] = true
	slog.Warn("http11: a handler held its loop for more than 10 ms, and the loop went on without it: "+
		"call MayBlock before what may wait, or use the engine Goroutines", "place", place, "stack", stack)
}

// labels distinguish the leaders of loops in a profile. A goroutine that has
// left keeps its label; it has usually ended before the label is reused.
var labels = func() (all [256]context.Context) {
	for i := range all {
		all[i] = pprof.WithLabels(context.Background(), pprof.Labels(labelKey, strconv.Itoa(i)))
	}
	return all
}()

const labelKey = "http11-loop"

// mark labels the goroutine as the leader of l.
func (l *loop) mark() {
	n := (l.label.Load() + 1) % uint32(len(labels))
	l.label.Store(n)
	pprof.SetGoroutineLabels(labels[n])
}

// stackOf returns the handler's part of the stack of the goroutine with that
// label; "" if it is no longer in a handler.
func stackOf(label uint32) string {
	var b bytes.Buffer
	if pprof.Lookup("goroutine").WriteTo(&b, 1) != nil {
		return ""
	}
	want := `"` + labelKey + `":"` + strconv.Itoa(int(label)) + `"`
	for block := range strings.SplitSeq(b.String(), "\n\n") {
		if strings.Contains(block, want) && strings.Contains(block, ".(*loop).run") {
			return handlerFrames(block)
		}
	}
	return ""
}

// handlerFrames returns the lines of a stack from the innermost to the function
// that this package called, and "" if it called none.
func handlerFrames(block string) string {
	var lines []string
	for line := range strings.SplitSeq(block, "\n") {
		if strings.Contains(line, "http11.(*conn).call") {
			return strings.Join(lines, "\n")
		}
		if fields := strings.Fields(line); len(fields) >= 4 && fields[0] == "#" {
			lines = append(lines, strings.Join(fields[2:], " "))
		}
	}
	return ""
}

// placeOf returns the innermost line of a stack outside the runtime and package
// time: where the handler waits or works.
func placeOf(stack string) string {
	for line := range strings.SplitSeq(stack, "\n") {
		if !strings.HasPrefix(line, "runtime.") && !strings.HasPrefix(line, "time.") && !strings.HasPrefix(line, "sync.") &&
			!strings.HasPrefix(line, "internal/") {
			return line
		}
	}
	return stack
}
