package queue

import (
	"fmt"
	"slices"
	"strings"
)

// An op is one operation of one thread, in the interval [call, ret] of a clock
// that all threads share.
type op struct {
	push      bool
	end       bool     // Close
	values    []uint64 // pushed or popped
	done      int      // push: how many of values were accepted; end: how many values in total
	rest      bool     // pop: everything that was left
	call, ret int
}

// A checker searches for an order of a history's effects that a FIFO queue allows (Wing and Gong,
// "Testing and verifying concurrent objects", JPDC 1993, with failed states remembered). Effects lie
// within the interval of their operation. A push has two effects: it takes its place, and it becomes
// visible. They coincide if there is a single producer. A pop has one effect and fails only while
// the front value is not visible. A push fails only while all places are taken or once the queue is
// closed. A ring may accept part of a batch, and a Drain may return fewer values than there are, but
// not zero. Close returns how many values were accepted before it, and none is accepted after.
type checker struct {
	variant
	history [][]op
	dead    map[string]bool
}

type state struct {
	next     []int    // by thread: the operation that is not yet complete
	placed   []bool   // by thread: whether it has taken its place
	queue    []uint64 // values, oldest first
	hidden   []uint64 // the ones among them that are not visible
	accepted int
	closed   bool
}

func linearizable(v variant, history [][]op) bool {
	c := checker{variant: v, history: history, dead: map[string]bool{}}
	return c.search(state{next: make([]int, len(history)), placed: make([]bool, len(history))})
}

func (c *checker) search(s state) bool {
	key := fmt.Sprint(s)
	if c.dead[key] {
		return false
	}
	horizon, complete := int(^uint(0)>>1), true // the earliest return among incomplete operations
	for thread, ops := range c.history {
		if s.next[thread] < len(ops) {
			horizon, complete = min(horizon, ops[s.next[thread]].ret), false
		}
	}
	if complete {
		return len(s.queue) == 0
	}
	for thread, ops := range c.history {
		if s.next[thread] == len(ops) || ops[s.next[thread]].call > horizon {
			continue
		}
		if after, ok := c.effect(s, thread, ops[s.next[thread]]); ok && c.search(after) {
			return true
		}
	}
	c.dead[key] = true
	return false
}

// effect applies the next effect of o.
func (c *checker) effect(s state, thread int, o op) (state, bool) {
	s.next, s.placed = slices.Clone(s.next), slices.Clone(s.placed)
	s.queue, s.hidden = slices.Clone(s.queue), slices.Clone(s.hidden)
	accepted := o.values[:min(o.done, len(o.values))]
	switch {
	case o.end:
		if o.done != s.accepted {
			return s, false
		}
		s.closed = true
		s.next[thread]++
	case !o.push:
		if len(o.values) == 0 && len(s.queue) > 0 && !slices.Contains(s.hidden, s.queue[0]) {
			return s, false
		}
		if len(o.values) > len(s.queue) || !slices.Equal(s.queue[:len(o.values)], o.values) {
			return s, false
		}
		for _, v := range o.values {
			if slices.Contains(s.hidden, v) {
				return s, false
			}
		}
		s.queue = s.queue[len(o.values):]
		s.next[thread]++
	case s.placed[thread]:
		s.hidden = slices.DeleteFunc(s.hidden, func(v uint64) bool { return slices.Contains(accepted, v) })
		s.placed[thread] = false
		s.next[thread]++
	case o.done == 0:
		if !s.closed && (c.capacity == 0 || uint64(len(s.queue)) < c.capacity) {
			return s, false
		}
		s.next[thread]++
	default:
		if s.closed {
			return s, false
		}
		s.accepted += len(accepted)
		s.queue = append(s.queue, accepted...)
		if c.capacity > 0 && uint64(len(s.queue)) > c.capacity {
			return s, false
		}
		if c.producers == 1 {
			s.next[thread]++
		} else {
			s.hidden = append(s.hidden, accepted...)
			s.placed[thread] = true
		}
	}
	return s, true
}

func format(history [][]op) string {
	var b strings.Builder
	for thread, ops := range history {
		for _, o := range ops {
			kind := "pop"
			if o.push {
				kind = "push"
			}
			if o.end {
				kind = fmt.Sprintf("close with %d accepted", o.done)
			}
			fmt.Fprintf(&b, "thread %d [%d,%d] %s %v", thread, o.call, o.ret, kind, o.values)
			if o.push && o.done < len(o.values) {
				fmt.Fprintf(&b, " (%d accepted)", o.done)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
