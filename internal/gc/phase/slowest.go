package phase

import "container/heap"

// Slowest keeps a goroutine's slowest operations in bounded memory. Make one
// with [NewSlowest].
type Slowest struct {
	ops  slowest
	kept int
}

// Kept is the default number of operations in a Slowest: those above the 99.9th
// percentile of 16 million.
const Kept = 1 << 14

// NewSlowest returns a Slowest that keeps up to kept operations.
func NewSlowest(kept int) *Slowest { return &Slowest{ops: make(slowest, 0, kept), kept: kept} }

// Add records an operation.
func (s *Slowest) Add(op Op) {
	if len(s.ops) < s.kept {
		s.ops = append(s.ops, op)
		if len(s.ops) == s.kept {
			heap.Init(&s.ops)
		}
		return
	}
	if op.End-op.Start > s.ops[0].End-s.ops[0].Start {
		s.ops[0] = op
		heap.Fix(&s.ops, 0)
	}
}

// Above returns the kept operations that took longer than ns, in no order.
func (s *Slowest) Above(ns int64) []Op {
	var ops []Op
	for _, op := range s.ops {
		if op.End-op.Start > ns {
			ops = append(ops, op)
		}
	}
	return ops
}

// slowest is a heap with the fastest operation on top.
type slowest []Op

func (s slowest) Len() int           { return len(s) }
func (s slowest) Less(i, j int) bool { return s[i].End-s[i].Start < s[j].End-s[j].Start }
func (s slowest) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *slowest) Push(any)          { panic("phase: a Slowest does not grow") }
func (s *slowest) Pop() any          { panic("phase: a Slowest does not shrink") }
