package life

import "slices"

// A Doubt is a question about the code that the analysis cannot answer.
type Doubt struct {
	What string // that decides, such as "what f does with it"
	File string
	Line int
}

// A Flow is a way on which somebody may come to hold memory: if all its doubts come true.
type Flow struct {
	Span   int     // how long it would live, the longer the higher
	Doubts []Doubt // the nearest to the allocation first; none where that it does is proved
}

// Decides returns the doubt that decides how long memory lives, and the flow that it is
// named for; or the longest flow and no doubt, where nothing is open.
//
// Memory lives as long as the longest of its flows whose doubts all come true. One that
// would live no longer than what is proved counts for nothing. Of the rest, the doubt
// decides whose answers settle the most: "yes" settles the span where a flow of the
// longest span has no other doubt, "no" settles it where every flow has this one. Of
// those that settle as much, it is the one on a flow of the longest span, then the one
// that is nearest to the allocation: on the first flow, and there the first.
func Decides(flows []Flow) (of int, doubt *Doubt) {
	proved, longest := -1, -1
	for i, f := range flows {
		if len(f.Doubts) == 0 && (proved < 0 || f.Span > flows[proved].Span) {
			proved = i
		}
		if longest < 0 || f.Span > flows[longest].Span {
			longest = i
		}
	}
	if proved >= 0 && flows[proved].Span == flows[longest].Span {
		return proved, nil
	}
	counts := func(f Flow) bool { return proved < 0 || f.Span > flows[proved].Span }
	best := -1
	for i, f := range flows {
		if !counts(f) {
			continue
		}
		for n := range f.Doubts {
			d := &f.Doubts[n]
			yes := len(f.Doubts) == 1 && f.Span == flows[longest].Span
			no := !slices.ContainsFunc(flows, func(g Flow) bool { return counts(g) && !slices.Contains(g.Doubts, *d) })
			score := f.Span
			if yes {
				score += 1 << 8
			}
			if no {
				score += 1 << 8
			}
			if score > best {
				best, of, doubt = score, i, d
			}
		}
	}
	return of, doubt
}

// within reports whether all of some doubts are among others.
func within(some, others []Doubt) bool {
	return !slices.ContainsFunc(some, func(d Doubt) bool { return !slices.Contains(others, d) })
}
