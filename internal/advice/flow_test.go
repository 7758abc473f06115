package advice

import (
	"path/filepath"
	"strings"
	"testing"
)

const flowing = `package m

type p struct{ n *int }

func Returned() *p {
	return &p{} // returned
}

func Handed(keep func(*p), n int) int {
	v := &p{} // handed
	w := v
	for range n {
		keep(w) // keeps
	}
	return n
}

func small() *p { return &p{} } // small

func Inlined(all map[int]*p) {
	v := small() // here
	all[1] = v   // stored
}

func Twice(all map[int]*p) {
	all[2] = small() // there
}

//go:noinline
func put(all map[int]*p, v *p) {
	all[3] = v // put
}

func Through(all map[int]*p) {
	v := &p{}   // through
	put(all, v) // only hands it on
}

//go:noinline
func (v *p) set(n int) {
	t := n // variable
	if n > 3 {
		v.n = &t // address
	}
}

func Same() (*p, *p) {
	return &p{}, &p{} // same
}

func Either(n int) *p {
	v := &p{} // either
	if n > 3 {
		return v // yes
	}
	return v // or
}

func Late() *p {
	v := &p{} // late
	v.n = new(int)
	return v // once
}

func Alike(all []*p) *p {
	all[0] = &p{}; return &p{} // alike
}
`

// TestFlows: the report has the compiler's step and the place that decides, in whichever words this
// toolchain has it, and none where it says different things.
func TestFlows(t *testing.T) {
	x, p := explainerOf(t, flowing)
	x.dir = x.base
	line := func(comment string) int {
		before, _, ok := strings.Cut(flowing, "// "+comment)
		if !ok {
			t.Fatal(comment)
		}
		return 1 + strings.Count(before, "\n")
	}
	file := p.Fset.Position(p.Files[0].Package).Filename
	reached := func(comments string) *cause {
		c := &cause{chains: map[string]*chain{}}
		for i, one := range strings.Fields(comments) { // each makes a hundredth of what the one before makes
			c.chains[one] = &chain{made: true, frames: []frame{{place: place{file, line(one)}}},
				site: site{Totals: Totals{Bytes: []int64{10000, 100, 100}[i]}}}
		}
		return c
	}
	var sites []Explained
	wants := []struct{ at, through, step, decides string }{
		{"returned", "", "return", "returned"}, {"handed", "", "keep(w)", "keeps"}, {"small", "", "return", "small"},
		{"small", "here", "all[1] = v", "stored"}, {"small", "there", "all[2] =", "there"}, {"small", "keeps", "", ""},
		{"small", "here there", "all[1] = v", "stored"}, {"small", "keeps here there", "", ""},
		{"through", "", "all[3] = v", "put"}, {"variable", "", "v.n = &t", "address"}, {"same", "", "return", "same"},
		{"alike", "", "", ""}, {"either", "", "return v", "yes or"}, {"late", "", "return v", "once"},
	}
	for _, w := range wants {
		e := Explained{File: filepath.Base(file), Line: line(w.at), What: "p{…}", Verdict: Look}
		if w.at == "variable" {
			e.What = "t"
		}
		if w.through != "" {
			e.inlined, e.cause = true, reached(w.through)
		}
		sites = append(sites, e)
	}
	x.flows(sites)
	for i, w := range wants {
		e, decides := sites[i], ""
		if w.decides != "" && w.decides != w.at {
			var places []string
			for _, at := range strings.Fields(w.decides) {
				places = append(places, x.spell(place{file, line(at)}))
			}
			decides = strings.Join(places, ", ")
		}
		if !strings.Contains(e.Flow, w.step) || (e.Flow == "") != (w.step == "") || e.Decides != decides {
			t.Errorf("%s %s: %q, decided at %q; want %q at %q", w.at, w.through, e.Flow, e.Decides, w.step, decides)
		}
	}
}
