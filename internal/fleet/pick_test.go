package fleet

import (
	"fmt"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestPick chooses a machine and runs one cell after another on it, while
// another suitable one waits.
func TestPick(t *testing.T) {
	server := serve(t, ServerConfig{})
	f := connect(t, Options{Server: server})
	requires := Requirement{Kind: KindLab, Version: "test", Labels: []string{"rack=7"}}
	waited := 0
	config := workerConfig(t, "a", noop)
	startWorker(t, Options{Server: server}, config)
	m, err := f.Pick(t.Context(), requires, func(reason string) {
		waited++
		for _, name := range []string{"c", "b"} {
			config := workerConfig(t, name, noop)
			config.Labels = map[string]string{"rack": "7"}
			startWorker(t, Options{Server: server}, config)
		}
	})
	if err != nil || m.Name != "b" && m.Name != "c" || waited != 1 {
		t.Fatalf("picked %q after being told to wait %d times, %v; want b or c after one", m.Name, waited, err)
	}
	requires.Labels = append(requires.Labels, "machine="+m.Machine.Hostname)
	for i := range 5 {
		c := cell.Cell{Config: cell.Config{Workload: "alloc"}, Index: i, Block: i / 2}
		var got []*Result
		err := f.Sweep(t.Context(), SweepConfig{
			ID: fmt.Sprint("pinned-", i), Cells: []cell.Cell{c}, Requires: requires, Warn: t.Logf,
			Store: func(results []*Result) error { got = append(got, results...); return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].Records[0].Cell.Index != i || got[0].Origin.Worker != m.Name {
			t.Errorf("cell %d: %d results, of %+v, want one of worker %s", i, len(got), got[0].Origin, m.Name)
		}
	}
}
