package eventloop

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A wheel is the alternative to the heap: a hierarchical timing wheel (Varghese
// and Lauck, 1987) with 256 slots a level and a resolution of one millisecond.
// BenchmarkTimer compares the two.
type wheel struct {
	now   int64 // in ticks
	slots [4][256]*wheelTimer
}

type wheelTimer struct {
	due        int64
	next, prev *wheelTimer
	slot       **wheelTimer
}

const wheelTick = int64(time.Millisecond)

func (w *wheel) add(due int64, t *wheelTimer) {
	t.due = max((due+wheelTick-1)/wheelTick, w.now+1)
	w.place(t)
}

func (w *wheel) place(t *wheelTimer) {
	level, d := 0, t.due^w.now
	for level < 3 && d>>(8*(level+1)) != 0 {
		level++
	}
	t.slot = &w.slots[level][t.due>>(8*level)&255]
	t.prev, t.next = nil, *t.slot
	if t.next != nil {
		t.next.prev = t
	}
	*t.slot = t
}

func (w *wheel) cancel(t *wheelTimer) {
	if t.prev == nil {
		*t.slot = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
}

// advance moves the wheel by one tick and returns the due timers.
func (w *wheel) advance() (due *wheelTimer) {
	w.now++
	for level := 3; level > 0; level-- {
		if w.now&(1<<(8*level)-1) == 0 {
			s := &w.slots[level][w.now>>(8*level)&255]
			list := *s
			*s = nil
			for list != nil {
				t := list
				list = list.next
				w.place(t)
			}
		}
	}
	s := &w.slots[0][w.now&255]
	due, *s = *s, nil
	return due
}

// BenchmarkTimer sets, cancels and runs timers among a million pending ones, in
// the heap and in a wheel. An operation of churn sets one timer and cancels
// another; an operation of drain runs one timer.
func BenchmarkTimer(b *testing.B) {
	const pendingTimers = 1 << 20
	const span = int64(100 * time.Second)
	r := rand.New(rand.NewPCG(1, 2))
	due := make([]int64, pendingTimers)
	for i := range due {
		due[i] = r.Int64N(span)
	}
	nop := func() {}
	b.Run("heap/churn", func(b *testing.B) {
		var q timers
		all := make([]Timer, pendingTimers)
		for i := range all {
			all[i], _ = q.add(due[i], 0, nop)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			j := i * 7919 & (pendingTimers - 1)
			q.cancel(all[j])
			all[j], _ = q.add(due[i&(pendingTimers-1)], 0, nop)
		}
	})
	b.Run("wheel/churn", func(b *testing.B) {
		var w wheel
		all := make([]*wheelTimer, pendingTimers)
		for i := range all {
			all[i] = new(wheelTimer)
			w.add(due[i], all[i])
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			j := i * 7919 & (pendingTimers - 1)
			w.cancel(all[j])
			all[j] = new(wheelTimer)
			w.add(due[i&(pendingTimers-1)], all[j])
		}
	})
	b.Run("heap/drain", func(b *testing.B) {
		var q timers
		fill := func() {
			for i := range due {
				q.add(due[i], 0, nop)
			}
		}
		fill()
		for b.Loop() {
			if run, _ := q.due(span, 1<<62); run == nil {
				b.StopTimer()
				fill()
				b.StartTimer()
			}
		}
	})
	b.Run("wheel/drain", func(b *testing.B) {
		var w wheel
		fill := func() {
			for i := range due {
				w.add(w.now*wheelTick+due[i], new(wheelTimer))
			}
		}
		fill()
		left := pendingTimers
		var list *wheelTimer
		for b.Loop() {
			for list == nil {
				if left == 0 {
					b.StopTimer()
					fill()
					left = pendingTimers
					b.StartTimer()
				}
				list = w.advance()
			}
			list = list.next
			left--
		}
	})
	b.Run("loop/after-cancel", func(b *testing.B) {
		l := mustNew(b, Config{})
		for i := range due {
			if _, err := l.After(time.Hour+time.Duration(due[i]), nop); err != nil {
				b.Fatal(err)
			}
		}
		startLoop(b, l)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			t, err := l.After(time.Hour+time.Duration(due[i&(pendingTimers-1)]), nop)
			if err != nil || !t.Cancel() {
				b.Fatal(err)
			}
		}
	})
}
