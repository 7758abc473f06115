package tune

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

const (
	recordedDir    = "testdata/recorded"
	recordedBlocks = 4
)

// recordedSettings are what predictions are held against; those of pilots first.
func recordedSettings() []cell.GC {
	return []cell.GC{setting(100, 0), setting(50, 0), setting(400, 0), setting(25, 0), setting(200, 0), setting(800, 0), setting(3200, 0), setting(-1, 0)}
}

// A recording holds the runs of one program.
type recording struct {
	Program string        `json:"program"`
	What    string        `json:"what"`
	Served  bool          `json:"served,omitempty"` // a server: CPU time counts
	Runs    []recordedRun `json:"runs"`
}

// A recordedRun is one run. The collections are there of settings that pilots
// have.
type recordedRun struct {
	GOGC   int         `json:"gogc"`
	Block  int         `json:"block"`
	Wall   float64     `json:"wall"`
	CPU    float64     `json:"cpu"`
	System float64     `json:"system"`
	Peak   float64     `json:"peak"`
	Faults float64     `json:"faults"`
	GC     float64     `json:"gc"`   // CPU seconds
	Goal   float64     `json:"goal"` // mean
	N      int         `json:"cycles"`
	Cycles []packCycle `json:"trace,omitempty"`
}

// A packCycle is a cell.Cycle as numbers: times in microseconds, sizes in MiB.
type packCycle [13]int64

func pack(c cell.Cycle) packCycle {
	forced := int64(0)
	if c.Forced {
		forced = 1
	}
	return packCycle{int64(c.Stream), c.AtNs / 1e3, c.MarkNs / 1e3, c.CPUNs / 1e3, c.IdleNs / 1e3, c.StartBytes >> 20, c.EndBytes >> 20, c.LiveBytes >> 20,
		c.GoalBytes >> 20, c.StackBytes >> 20, c.GlobalBytes >> 20, int64(c.Procs), forced}
}

func (p packCycle) cycle() cell.Cycle {
	return cell.Cycle{Stream: int(p[0]), AtNs: p[1] * 1e3, MarkNs: p[2] * 1e3, CPUNs: p[3] * 1e3, IdleNs: p[4] * 1e3, StartBytes: p[5] << 20, EndBytes: p[6] << 20,
		LiveBytes: p[7] << 20, GoalBytes: p[8] << 20, StackBytes: p[9] << 20, GlobalBytes: p[10] << 20, Procs: int(p[11]), Forced: p[12] == 1}
}

func (r *recording) add(rec *cell.Record, block int) {
	p, _ := NewPilot(rec) // the error is that there are no cycles, as with collection off
	run := recordedRun{GOGC: rec.Cell.GC.Percent, Block: block, Wall: p.Wall, CPU: p.CPU, System: p.System, Peak: p.PeakBytes, Faults: p.Faults, GC: p.GCSeconds, Goal: p.MeanGoalBytes, N: p.Cycles}
	if slices.Contains([]int{50, 100, 400}, run.GOGC) {
		for _, c := range rec.Cycles {
			run.Cycles = append(run.Cycles, pack(c))
		}
	}
	r.Runs = append(r.Runs, run)
}

func (r *recording) write() error {
	if err := os.MkdirAll(recordedDir, 0o755); err != nil {
		return err
	}
	var b strings.Builder
	head := *r
	head.Runs = nil
	data, err := json.Marshal(head)
	if err != nil {
		return err
	}
	b.Write(data[:len(data)-len(`null}`)])
	b.WriteString("[\n")
	for i, run := range r.Runs {
		data, err := json.Marshal(run)
		if err != nil {
			return err
		}
		b.Write(data)
		if i < len(r.Runs)-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
	b.WriteString("]}\n")
	return os.WriteFile(filepath.Join(recordedDir, r.Program+".json"), []byte(b.String()), 0o644)
}

func readRecording(t *testing.T, name string) recording {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(recordedDir, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var r recording
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// pilot is the run as a pilot: with its trajectory if its cycles are there.
func (r *recording) pilot(t *testing.T, run recordedRun) Pilot {
	t.Helper()
	p := Pilot{GC: setting(run.GOGC, 0), Wall: run.Wall, CPU: run.CPU, System: run.System, PeakBytes: run.Peak, Faults: run.Faults, GCSeconds: run.GC, MeanGoalBytes: run.Goal, Cycles: run.N}
	if len(run.Cycles) == 0 {
		return p
	}
	rec := &cell.Record{Cell: cell.Cell{Config: cell.Config{GC: p.GC}}}
	for _, c := range run.Cycles {
		rec.Cycles = append(rec.Cycles, c.cycle())
	}
	rec.Set(cell.WallTime, run.Wall)
	rec.Set(cell.TotalCPU, run.CPU)
	rec.Set(cell.SystemCPU, run.System)
	rec.Set(cell.RSSPeak, run.Peak)
	rec.Set(cell.MinorFaults, run.Faults)
	p, err := NewPilot(rec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
