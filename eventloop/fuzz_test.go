package eventloop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A model logs what the loop should do, event by event.
type model struct {
	log    []string
	timers []modelTimer // pending, in the order they were set
	now    int
}

type modelTimer struct {
	due, every int
	name       string
	handle     int
}

// advance moves the clock and runs the timers that become due.
func (m *model) advance(d int) {
	end := m.now + d
	for {
		i := -1
		for j, t := range m.timers {
			if t.due <= end && (i < 0 || t.due < m.timers[i].due) {
				i = j
			}
		}
		if i < 0 {
			break
		}
		t := m.timers[i]
		m.now = max(m.now, t.due)
		m.timers = slices.Delete(m.timers, i, i+1)
		m.log = append(m.log, t.name)
		if t.every > 0 {
			t.due += t.every
			m.timers = append(m.timers, t)
		}
	}
	m.now = end
}

// FuzzLoop runs a script on a loop and on the model: bursts of tasks that queue
// microtasks and ticks, fail, settle promises, set timers and cancel them.
func FuzzLoop(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{0x12, 0x22, 0x04, 0x83, 0x17, 0xf7, 0x47, 0x0b, 0xff, 0x33})
	f.Add([]byte(strings.Repeat("\x01\x26\x37\x4e\x05\x7f", 20)))
	f.Fuzz(func(t *testing.T, script []byte) {
		script = script[:min(len(script), 150)]
		for _, in := range ingresses {
			synctest.Test(t, func(t *testing.T) { runScript(t, script, in.make()) })
		}
	})
}

func runScript(t *testing.T, script []byte, in ingress) {
	var got []string
	l := newLoop(Config{
		OnPanic:     func(v any, _ []byte) { got = append(got, fmt.Sprint("panic ", v)) },
		OnUnhandled: func(err error) { got = append(got, "unhandled") },
	}, in)
	startLoop(t, l)
	var m model
	var handles []Timer
	say := func(format string, args ...any) func() {
		s := fmt.Sprintf(format, args...)
		return func() { got = append(got, s) }
	}
	for i, b := range script {
		op, arg := int(b%8), int(b/8)
		switch op {
		case 0: // a burst
			for j := range arg + 1 {
				l.Submit(say("task %d.%d", i, j))
				m.log = append(m.log, fmt.Sprintf("task %d.%d", i, j))
			}
		case 1: // a task with microtasks and ticks
			l.Submit(func() {
				for j := range arg%4 + 1 {
					l.QueueMicrotask(func() {
						say("micro %d.%d", i, j)()
						l.NextTick(say("late tick %d.%d", i, j))
					})
					l.NextTick(say("tick %d.%d", i, j))
				}
				say("task %d", i)()
			})
			m.log = append(m.log, fmt.Sprintf("task %d", i))
			for _, kind := range []string{"tick", "micro", "late tick"} {
				for j := range arg%4 + 1 {
					m.log = append(m.log, fmt.Sprintf("%s %d.%d", kind, i, j))
				}
			}
		case 2, 3: // a timer, from outside or from the loop; some are intervals
			d, every := arg%16, 0
			set := func() {
				timer, err := Timer{}, error(nil)
				if every > 0 {
					timer, err = l.Every(time.Duration(d)*time.Millisecond, say("interval %d", i))
				} else {
					timer, err = l.After(time.Duration(d)*time.Millisecond, say("timer %d", i))
				}
				if err != nil {
					t.Error(err)
				}
				handles = append(handles, timer)
			}
			name := "timer"
			if arg >= 24 && d > 0 {
				every, name = d, "interval"
			}
			m.timers = append(m.timers, modelTimer{m.now + d, every, fmt.Sprintf("%s %d", name, i), len(handles)})
			if op == 2 {
				set()
			} else {
				l.Submit(set)
			}
		case 4: // cancel
			if len(handles) > 0 {
				h := arg % len(handles)
				at := slices.IndexFunc(m.timers, func(t modelTimer) bool { return t.handle == h })
				if cancelled := handles[h].Cancel(); cancelled != (at >= 0) {
					t.Fatalf("op %d: Cancel of timer %d: %v", i, h, cancelled)
				}
				if at >= 0 {
					m.timers = slices.Delete(m.timers, at, at+1)
				}
			}
		case 5: // a failing task between others
			l.Submit(func() { l.NextTick(say("after panic %d", i)); panic(i) })
			m.log = append(m.log, fmt.Sprint("panic ", i), fmt.Sprintf("after panic %d", i))
		case 6: // promises
			l.Submit(func() {
				p, resolve, reject := NewPromise[int](l)
				q := Then(p, func(v int) (int, error) { say("then %d %d", i, v)(); return v + 1, nil })
				if arg%3 > 0 {
					q.Catch(func(err error) (int, error) { say("catch %d", i)(); return 0, nil })
				}
				if arg%2 == 0 {
					reject(ErrFull)
				}
				resolve(arg)
			})
			switch {
			case arg%2 == 1:
				m.log = append(m.log, fmt.Sprintf("then %d %d", i, arg))
			case arg%3 > 0:
				m.log = append(m.log, fmt.Sprintf("catch %d", i))
			default:
				m.log = append(m.log, "unhandled")
			}
		case 7:
			l.Submit(func() {}) // the loop must notice that got has been cut
			time.Sleep(time.Duration(arg) * time.Millisecond)
			m.advance(arg)
		}
		synctest.Wait()
		m.advance(0)
		if !slices.Equal(got, m.log) {
			t.Fatalf("op %d (%d, %d):\ngot  %q\nwant %q", i, op, arg, got, m.log)
		}
		got, m.log = got[:0], m.log[:0]
		if n := l.Stats().Timers; n != len(m.timers) {
			t.Fatalf("op %d: %d timers pending, want %d", i, n, len(m.timers))
		}
	}
	slices.SortFunc(m.timers, func(a, b modelTimer) int { return cmp.Compare(a.due, b.due) })
	if due, ok := l.timers.next(); ok != (len(m.timers) > 0) || ok && due-1 != int64(m.timers[0].due)*int64(time.Millisecond) {
		t.Fatalf("next timer %d %v, want %v", due, ok, m.timers)
	}
}
