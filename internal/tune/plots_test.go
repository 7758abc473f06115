package tune

import (
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestProcsMap(t *testing.T) {
	base := cell.Config{Workload: "exec", Command: []string{"./prog", "a b"}, GC: cell.DefaultGC}
	row := Row{Ran: 8, Settings: []Prediction{{GC: cell.DefaultGC},
		{GC: cell.GC{Percent: 400}}}}
	for name, tc := range map[string]struct {
		result Answer
		cells  int
	}{
		"one row":  {Answer{Base: base, Rows: []Row{row}}, 2},
		"two rows": {Answer{Base: base, Rows: []Row{row, {Procs: 1, Settings: row.Settings}}}, 4},
	} {
		m := tc.result.ProcsMap()
		if len(m.Forecasts) != tc.cells || len(m.Figures) != 2 {
			t.Errorf("%s: %+v", name, m)
		}
		if m.Forecasts[tc.cells-1].Procs != tc.result.Rows[len(tc.result.Rows)-1].Procs {
			t.Errorf("%s: forecasts %+v", name, m.Forecasts)
		}
	}
	if m := (&Answer{Base: base}).ProcsMap(); m != nil {
		t.Errorf("nothing was predicted: %+v", m)
	}
}
