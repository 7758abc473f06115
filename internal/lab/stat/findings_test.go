package stat

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestFindingsNameWhatIsProven: if a program is proven better in CPU time but not in wall time,
// the sentence names CPU time.
func TestFindingsNameWhatIsProven(t *testing.T) {
	base := &Group{Config: cell.Config{Workload: "exec", GC: cell.DefaultGC}, Key: "a", Records: make([]*cell.Record, 6)}
	other := &Group{Config: cell.Config{Workload: "exec", GC: cell.GC{Percent: 400}}, Key: "b", Records: make([]*cell.Record, 6)}
	for wallVerdict, want := range map[Verdict]string{NoDifference: "cut the CPU time to 0.70x", Better: "cut the wall time to 0.80x"} {
		s := study{base, []*Group{other}, map[[2]string]Comparison{
			{"b", cell.TotalCPU}: {Verdict: Better, Ratio: 0.7, Lo: 0.6, Hi: 0.8},
			{"b", cell.WallTime}: {Verdict: wallVerdict, Ratio: 0.8, Lo: 0.6, Hi: 1.1},
		}}
		if got := s.effect("gc", other); !strings.Contains(got.text, want) || !got.proven {
			t.Errorf("wall time %s: %q, want %q", wallVerdict, got.text, want)
		}
	}
}
