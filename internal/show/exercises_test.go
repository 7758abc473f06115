package show_test

import (
	"bytes"
	"html"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/exercise"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/text"
)

// TestExercisesAreExplained: a run of an exercise shows its code and texts, a run of
// another workload does not.
func TestExercisesAreExplained(t *testing.T) {
	for _, workload := range []string{"exercises", "other"} {
		g := groupOf(workload, "plain", cell.DefaultGC, 900)
		g.Config.Params["exercise"] = "4"
		g.Key = g.Config.Key()
		a := &stat.Analysis{Groups: []*stat.Group{g}}
		var shown, summary bytes.Buffer
		if err := page.Write(&shown, page.Run{Meta: fixtureMeta()}, a); err != nil {
			t.Fatal(err)
		}
		if err := text.Summary(&summary, fixtureMeta(), a, text.Style{Width: 80}); err != nil {
			t.Fatal(err)
		}
		e, want := exercise.Explain(4), workload == "exercises"
		for _, s := range []string{e.Stars(), e.TradeOff, e.WhenNot, e.Before, e.After} {
			if strings.Contains(html.UnescapeString(shown.String()), s) != want {
				t.Errorf("%s: the page has %q: %v, want %v", workload, s, !want, want)
			}
		}
		if strings.Contains(summary.String(), "isobar advise checks concatloop") != want {
			t.Errorf("%s: the summary names the check: want %v\n%s", workload, want, summary.String())
		}
	}
}
