package heap

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/show/text"
)

// A Change is what a holder retained in each of several reports.
type Change struct {
	Path     string   `json:"path"`
	Type     string   `json:"type"`
	Retained []uint64 `json:"retained_bytes"` // one per report; 0 if it is not in the report
	Objects  []uint64 `json:"retained_objects"`
	Growth   int64    `json:"growth_bytes"` // from the first report to the last
	Verdict  Verdict  `json:"verdict"`
}

// A Verdict says how a holder grew.
type Verdict string

// The verdicts. Two reports give only Grew, Shrank or Stays.
const (
	Leaks  Verdict = "leaks"  // grew more than once, and as fast at the end as at the start
	Fills  Verdict = "fills"  // grew ever more slowly: a cache on its way to its bound
	Varies Verdict = "varies" // up and down, or in one jump
	Grew   Verdict = "grew"
	Shrank Verdict = "shrank"
	Stays  Verdict = "stays"
)

// leastGrowth is the least change in bytes that counts.
const leastGrowth = 64 << 10

// Compare matches holders of at least two reports of one program by path and type, and sorts them
// by growth. A holder counts if it has at least the given share of the live heap in one report.
func Compare(reports []*Report, share float64) ([]Change, error) {
	if len(reports) < 2 {
		return nil, errors.New("heap: compare: want at least two reports")
	}
	type key struct{ path, typ string }
	at := make(map[key]int)
	var all []Change
	for _, r := range reports {
		for _, h := range r.Holders(share) {
			k := key{h.Path, h.Type}
			if _, ok := at[k]; !ok {
				at[k] = len(all)
				all = append(all, Change{Path: h.Path, Type: h.Type, Retained: make([]uint64, len(reports)),
					Objects: make([]uint64, len(reports))})
			}
		}
	}
	for i, r := range reports { // include reports in which it is below the share
		r.each(func(path, typ string, n *Node) {
			if c, ok := at[key{path, typ}]; ok {
				all[c].Retained[i] += n.Retained
				all[c].Objects[i] += n.Below
			}
		})
	}
	all = join(all)
	for i := range all {
		c := &all[i]
		c.Growth = int64(c.Retained[len(c.Retained)-1]) - int64(c.Retained[0])
		c.Verdict = verdict(c.Retained)
	}
	slices.SortStableFunc(all, func(a, b Change) int { return cmp.Compare(b.Growth, a.Growth) })
	return all, nil
}

// join makes one of changes that stand for the same values: if several goroutines hold them, the
// path may begin at another one in another report.
func join(all []Change) []Change {
	var joined []Change
	for _, c := range all {
		i := slices.IndexFunc(joined, func(have Change) bool {
			for k := range c.Retained {
				if c.Retained[k] > 0 && have.Retained[k] > 0 {
					return false
				}
			}
			return have.Type == c.Type && strings.Contains(c.Type, ".") && !strings.HasPrefix(c.Type, "[]") &&
				strings.HasPrefix(c.Path, "goroutine ") && strings.HasPrefix(have.Path, "goroutine ")
		})
		if i < 0 {
			joined = append(joined, c)
			continue
		}
		have := &joined[i]
		if c.Retained[len(c.Retained)-1] > 0 {
			have.Path = c.Path
		}
		for k := range c.Retained {
			have.Retained[k] += c.Retained[k]
			have.Objects[k] += c.Objects[k]
		}
	}
	return joined
}

// each visits every node of the tree with its path.
func (r *Report) each(visit func(path, typ string, n *Node)) {
	var walk func(n *Node, path []*Node)
	walk = func(n *Node, path []*Node) {
		visit(pathOf(path), n.Type, n)
		for _, c := range n.Children {
			walk(c, append(slices.Clip(path), c))
		}
	}
	for _, c := range r.Tree.Children {
		walk(c, []*Node{c})
	}
}

// verdict judges a series of sizes taken at regular intervals.
func verdict(v []uint64) Verdict {
	first, last, falls, rises := int64(v[0]), int64(v[len(v)-1]), int64(0), 0
	for i := 1; i < len(v); i++ {
		falls = max(falls, int64(v[i-1])-int64(v[i]))
		if v[i] > v[i-1] {
			rises++
		}
	}
	growth := last - first
	switch {
	case slices.Max(v)-slices.Min(v) < leastGrowth:
		return Stays
	case len(v) == 2 && growth > 0:
		return Grew
	case growth < 0 && falls <= -growth:
		return Shrank
	case growth < leastGrowth || 4*falls > growth:
		return Varies
	}
	middle := int64(v[len(v)/2])
	perStepEarly := float64(middle-first) / float64(len(v)/2)
	perStepLate := float64(last-middle) / float64(len(v)-1-len(v)/2)
	switch {
	case perStepLate < 0.5*perStepEarly:
		return Fills
	case rises == 1: // it jumped; what append grows does not grow each time
		return Varies
	}
	return Leaks
}

// WriteChanges prints the growth of holders between reports.
func WriteChanges(out io.Writer, reports []*Report, changes []Change, lines int) error {
	w := bufio.NewWriter(out)
	first, last := reports[0], reports[len(reports)-1]
	apart, when := last.Time.Sub(first.Time).Round(time.Second), "later"
	if apart < 0 {
		apart, when = -apart, "earlier: give the oldest report first"
	}
	fmt.Fprintf(w, "%s: live %s, then %s, %v %s\n", clean(last.Program), size(first.Live), size(last.Live), apart, when)
	if first.Program != last.Program || first.Go != last.Go {
		fmt.Fprintf(w, "note: the first is of %s, %s\n", clean(first.Program), first.Go)
	}
	fmt.Fprintf(w, "\n%10s %10s %10s %9s %7s  holder\n", "growth", "before", "after", "objects", "")
	for i, c := range changes {
		if i == lines {
			fmt.Fprintf(w, "%10s and %d more: --lines\n", "", len(changes)-lines)
			break
		}
		n := len(c.Retained) - 1
		fmt.Fprintf(w, "%10s %10s %10s %9s %7s  %s  %s\n", signed(c.Growth), size(c.Retained[0]), size(c.Retained[n]),
			text.Count(float64(int64(c.Objects[n])-int64(c.Objects[0]))), c.Verdict, clean(c.Path), clean(c.Type))
	}
	return w.Flush()
}

func signed(n int64) string {
	if n < 0 {
		return "-" + size(uint64(-n))
	}
	return "+" + size(uint64(n))
}
