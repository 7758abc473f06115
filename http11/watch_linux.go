package http11

import (
	"bytes"
	"context"
	"log/slog"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"
)

// loopTick is how long a turn lasts at least before its leader is replaced.
const loopTick = 10 * time.Millisecond

// A watch finds a leader that does not return from its turn, and starts another
// goroutine to serve the other connections. Its alarm goes off only if the
// leader has not fetched events for a while: a busy loop puts it off, and a
// loop that waits does not set it again.
type watch struct {
	loop  *loop
	alarm *alarm        // calls look
	at    time.Duration // when it was last put off; owned by the leader

	// Owned by look.
	turn  uint64    // the turn at the last look, 0 if the loop was waiting
	looks int       // in the same turn
	last  time.Time // of the last look
	// waited is how long each thread had waited for a CPU by then.
	waited map[int]time.Duration
}

// patience is how many looks in the same turn suffice in any case.
const patience = 20

func newWatch(l *loop) (*watch, error) {
	w := &watch{loop: l, at: -loopTick}
	var err error
	w.alarm, err = newAlarm(w.look)
	return w, err
}

// putOff is called by the leader between turns, after it has cleared parked.
func (w *watch) putOff(now time.Duration) {
	if now-w.at >= loopTick/4 && !w.loop.srv.unwatched.Load() {
		w.at = now
		w.alarm.set(loopTick / 2)
	}
}

// look replaces a leader that is in the same turn as at the last look. If the watch itself
// was late, or a thread waits for a CPU or has done so since, the leader or whoever it
// waits for may have had no CPU either: such a look does not count, up to patience looks.
func (w *watch) look(a *alarm) {
	l := w.loop
	if l.parked.Load() || l.srv.unwatched.Load() { // its leader sets the alarm once it has returned
		w.turn = 0
		return
	}
	now := time.Now()
	if turn := l.turns.Load(); turn != w.turn || turn == 0 {
		w.turn, w.looks = turn, 0
	} else {
		w.looks++
		sure := now.Sub(w.last) < 2*loopTick && !shortOfCPU(w.waited) && l.turns.Load() == turn
		if sure || w.looks > patience {
			l.held()
		}
	}
	w.last, w.waited = now, waitedForCPU()
	a.set(loopTick)
}

// held makes another goroutine lead the loop.
func (l *loop) held() {
	s := l.serving.Load()
	if s == nil || s.state.Load() != leading {
		return
	}
	label := l.label.Load()
	s.leave()
	l.srv.stats.held.Add(1)
	l.srv.loops.logged.report(label)
}

// holders are what has been logged of handlers that held a loop.
type holders struct {
	mu     sync.Mutex
	places map[string]bool
	next   time.Time // when stacks may be examined again
}

// maxPlaces bounds the logged places.
const maxPlaces = 64

// report logs once where the goroutine with that label is.
func (p *holders) report(label uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Before(p.next) || len(p.places) >= maxPlaces {
		return
	}
	p.next = now.Add(time.Second)
	stack := stackOf(label)
	place := placeOf(stack)
	if stack == "" || p.places[place] {
		return
	}
	if p.places == nil {
		p.places = map[string]bool{}
	}
	p.places[place] = true
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
