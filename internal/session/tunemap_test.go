package session

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/tune"
)

func TestProcsMapHint(t *testing.T) {
	base := cell.Config{Workload: "exec", Command: []string{"./prog", "a b"}, GC: cell.DefaultGC}
	lab := base
	lab.Command = []string{"isobar", "lab", "run", "scaling"}
	row := tune.Row{Ran: 8, Settings: []tune.Prediction{{GC: cell.DefaultGC},
		{GC: cell.GC{Percent: 400}}}}
	run := store.Run{Args: []string{"--store", "s.db", "tune", "--resume", "--", "./prog", "a b", "--resume"}, Seed: 3}
	for name, tc := range map[string]struct {
		result tune.Answer
		want   string // the command
		cells  int
	}{
		"one row": {tune.Answer{Base: base, Rows: []tune.Row{row}},
			"isobar --store s.db tune --gomaxprocs 1,2,4 --seed 3 -- ./prog 'a b' --resume", 2},
		"two rows": {tune.Answer{Base: base, Rows: []tune.Row{row, {Procs: 1, Settings: row.Settings}}}, "", 4},
		"goroutine": {tune.Answer{Base: lab, Rows: []tune.Row{row}},
			"isobar lab run scaling --goroutines 1,2,16 --gc default,400,3200,off", 2},
	} {
		m := procsMap(&tc.result, run)
		if m.Command != tc.want || (m.Hint == "") != (tc.want == "") || len(m.Forecasts) != tc.cells || len(m.Figures) != 2 {
			t.Errorf("%s: %+v, want the command %q", name, m, tc.want)
		}
		if m.Forecasts[tc.cells-1].Procs != tc.result.Rows[len(tc.result.Rows)-1].Procs {
			t.Errorf("%s: forecasts %+v", name, m.Forecasts)
		}
	}
	if m := procsMap(&tune.Answer{Base: base}, run); m != nil {
		t.Errorf("nothing was predicted: %+v", m)
	}
	for had, want := range map[int]string{1: " 2 ", 2: " 1 ", 4: " 1,2 ", 64: " 1,16,32 "} {
		if got := moreProcs(run, had); !strings.Contains(got, "--gomaxprocs"+want) {
			t.Errorf("%d CPUs: %s", had, got)
		}
	}
}
