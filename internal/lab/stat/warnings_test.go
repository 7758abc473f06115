package stat

import (
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestWarningsThatDifferInNumbersAreOne(t *testing.T) {
	g := gather{}
	for _, text := range []string{"in 97 % of 2.5 s", "in 100 % of 2.5 s", "in 9 % of 2.5 s", "in the end"} {
		g.add(cell.Warning{Code: "x", Text: text})
	}
	g.add(cell.Warning{Code: "y", Text: "in 1 % of 2.5 s"})
	got := map[CountedWarning]bool{}
	for _, w := range g.all() {
		got[w] = true
	}
	for _, want := range []CountedWarning{
		{cell.Warning{Code: "x", Text: "in 9 to 100 % of 2.5 s"}, 3},
		{cell.Warning{Code: "x", Text: "in the end"}, 1},
		{cell.Warning{Code: "y", Text: "in 1 % of 2.5 s"}, 1},
	} {
		if !got[want] {
			t.Errorf("no %+v in %+v", want, got)
		}
	}
}
