package claim

import "math"

// A world holds made-up figures by side.
type world map[Side]float64

// A supposer is a test that can make up figures for which the claim holds, or does not. It
// sets missing sides of the world and keeps the existing ones.
type supposer interface {
	suppose(holds bool, w world)
}

func (t Effect) suppose(holds bool, w world) {
	ratio := t.Says
	if !holds {
		ratio = 1
	}
	w.relate(t.Of, t.Over, ratio)
}

func (t Range) suppose(holds bool, w world) {
	var v float64
	switch {
	case holds && math.IsInf(t.Max, 1):
		v = t.Min * 1.5
	case holds:
		v = (t.Min + t.Max) / 2
	case math.IsInf(t.Max, 1):
		v = t.Min / 2
	default:
		v = t.Max*2 + 1
	}
	if t.isRatio() {
		w.relate(t.Of, t.Over, v)
	} else {
		w[t.Of] = v
	}
}

func (t Share) suppose(holds bool, w world) {
	inside := (t.Min + t.Max) / 2
	if t.Min == 0 {
		inside = 0
	} else if t.Max == 1 {
		inside = 1
	}
	outside := 1.0
	if t.Max == 1 {
		outside = 0
	}
	w[t.Trials] = 1000
	w[t.Hits] = 1000 * outside
	if holds {
		w[t.Hits] = 1000 * inside
	}
}

func (t All) suppose(holds bool, w world) {
	for i, part := range t {
		part.(supposer).suppose(holds || i < len(t)-1, w)
	}
}

// relate sets of to ratio times over, without changing known figures.
func (w world) relate(of, over Side, ratio float64) {
	known, ok := w[over]
	if have, set := w[of]; set && !ok {
		w[over] = have / ratio
		return
	}
	if !ok {
		known = 1000
		w[over] = known
	}
	w[of] = known * ratio
}
