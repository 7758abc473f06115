package life

import (
	"cmp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Loop is a natural loop of a function's control flow.
type Loop struct {
	Head *ssa.BasicBlock
	body map[*ssa.BasicBlock]bool
}

// Has reports whether b runs in some or all rounds.
func (l *Loop) Has(b *ssa.BasicBlock) bool { return l.body[b] }

// Left reports whether the loop may end elsewhere than at its head, as by a break or return.
func (l *Loop) Left() bool {
	for b := range l.body {
		if b != l.Head && slices.ContainsFunc(b.Succs, func(next *ssa.BasicBlock) bool { return !l.body[next] }) {
			return true
		}
	}
	return false
}

// Loop returns the innermost loop around a block, or nil.
func (p *Package) Loop(b *ssa.BasicBlock) *Loop {
	for _, l := range p.loopsOf(b.Parent()) {
		if l.Has(b) {
			return l
		}
	}
	return nil
}

// loopsOf returns the loops of a function, smallest first.
func (p *Package) loopsOf(fn *ssa.Function) []*Loop {
	return p.loops.get(fn, func() []*Loop { return naturalLoops(fn) })
}

func naturalLoops(fn *ssa.Function) (all []*Loop) {
	byHead := map[*ssa.BasicBlock]*Loop{}
	for _, b := range fn.Blocks {
		for _, head := range b.Succs {
			if !head.Dominates(b) {
				continue
			}
			l := byHead[head]
			if l == nil {
				l = &Loop{head, map[*ssa.BasicBlock]bool{head: true}}
				byHead[head] = l
				all = append(all, l)
			}
			spread([]*ssa.BasicBlock{b}, l.body, func(b *ssa.BasicBlock) []*ssa.BasicBlock { return b.Preds })
		}
	}
	slices.SortStableFunc(all, func(a, b *Loop) int { return cmp.Compare(len(a.body), len(b.body)) })
	return all
}

// spread adds to seen the blocks of from and all that next leads to, but goes no further from blocks already there.
func spread(from []*ssa.BasicBlock, seen map[*ssa.BasicBlock]bool, next func(*ssa.BasicBlock) []*ssa.BasicBlock) {
	for _, b := range from {
		if !seen[b] {
			seen[b] = true
			spread(next(b), seen, next)
		}
	}
}
