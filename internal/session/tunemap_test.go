package session

import (
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/tune"
)

func TestProcsMap(t *testing.T) {
	base := cell.Config{Workload: "exec", Command: []string{"./prog", "a b"}, GC: cell.DefaultGC}
	row := tune.Row{Ran: 8, Settings: []tune.Prediction{{GC: cell.DefaultGC},
		{GC: cell.GC{Percent: 400}}}}
	for name, tc := range map[string]struct {
		result tune.Answer
		cells  int
	}{
		"one row":  {tune.Answer{Base: base, Rows: []tune.Row{row}}, 2},
		"two rows": {tune.Answer{Base: base, Rows: []tune.Row{row, {Procs: 1, Settings: row.Settings}}}, 4},
	} {
		m := procsMap(&tc.result)
		if len(m.Forecasts) != tc.cells || len(m.Figures) != 2 {
			t.Errorf("%s: %+v", name, m)
		}
		if m.Forecasts[tc.cells-1].Procs != tc.result.Rows[len(tc.result.Rows)-1].Procs {
			t.Errorf("%s: forecasts %+v", name, m.Forecasts)
		}
	}
	if m := procsMap(&tune.Answer{Base: base}); m != nil {
		t.Errorf("nothing was predicted: %+v", m)
	}
}
