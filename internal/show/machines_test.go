package show_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/text"
)

// fleetFixture is a run on two machines: one configuration is faster on both,
// another is faster on one and slower on the other.
func fleetFixture(t *testing.T) *stat.Analysis {
	t.Helper()
	var cells []cell.Cell
	var recs []*cell.Record
	factor := map[string][2]float64{"plain": {1, 1}, "pool": {0.8, 0.8}, "arena": {0.5, 2}}
	for block := range 12 {
		on := block % 2
		for i, strategy := range []string{"plain", "pool", "arena"} {
			c := cell.Cell{Config: cell.Config{Workload: "strategies", Params: map[string]string{"strategy": strategy}, GC: cell.DefaultGC}, Index: len(cells), Order: i, Block: block}
			cells = append(cells, c)
			name := []string{"fast", "slow"}[on]
			rec := &cell.Record{Cell: c, Origin: &cell.Origin{Worker: name, Machine: cell.Machine{Hostname: "h" + name, OS: "linux", Arch: "amd64", CPU: "CPU of " + name, CPUs: 4}}}
			rec.Set(cell.OpTime, []float64{100, 900}[on]*factor[strategy][on]*(1+0.001*float64((block*7+i*3)%11)))
			recs = append(recs, rec)
		}
	}
	a, err := stat.Analyze(cells, recs)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestMachinesInReports(t *testing.T) {
	a := fleetFixture(t)
	written := map[string]string{}
	for name, write := range forms {
		var buf bytes.Buffer
		if err := write(&buf, fixtureMeta(), a); err != nil {
			t.Fatal(name, err)
		}
		written[name] = buf.String()
	}
	golden(t, "machines.golden", []byte(written["text.golden"]))
	for name, wants := range map[string][]string{
		"summary.golden":      {"2 machines measured, each block on one of them", "fast: linux/amd64, CPU of fast, 4 CPUs, 18 cells"},
		"compare.golden":      {"By machine", "machines disagree", "1 better, machines disagree about 1"},
		"compare.json.golden": {`"machine": "slow"`, `"opposed": true`, `"verdict": "machines disagree"`},
		"html.golden": {"Several machines measured this run", "By machine, strategies", "CPU of slow", "no difference shown between the 2 machines",
			"the machines disagree: 0.50x"},
	} {
		for _, want := range wants {
			if !strings.Contains(strings.ReplaceAll(written[name], "\n", " "), want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
	for _, own := range []string{"A CPU", "8 GiB"} { // of the machine that submitted the cells
		if strings.Contains(written["html.golden"], own) {
			t.Errorf("the page names %q, on which nothing was measured", own)
		}
	}
	var doc text.Document
	if err := json.Unmarshal([]byte(written["json.golden"]), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Run.Machines) != 2 || doc.Run.Machines[1].Name != "slow" || doc.Run.Machines[1].Records != 18 {
		t.Errorf("machines: %+v", doc.Run.Machines)
	}
	for _, c := range doc.Comparisons {
		if len(c.Machines) != 2 || c.Machines[0].Machine != "fast" || c.Machines[0].Pairs != 6 || c.Heterogeneity == nil {
			t.Errorf("%s: %+v, %+v", c.B, c.Machines, c.Heterogeneity)
		}
	}
}

// If only one machine of a fleet measured, the page shows that machine, not the
// one that submitted the cells.
func TestOneMachineOfAFleet(t *testing.T) {
	c := cell.Cell{Config: cell.Config{Workload: "alloc", GC: cell.DefaultGC}}
	rec := &cell.Record{Cell: c, Origin: &cell.Origin{Worker: "w", Machine: cell.Machine{Hostname: "h", CPU: "its CPU", CPUs: 64}}}
	rec.Set(cell.OpTime, 1)
	a, err := stat.Analyze([]cell.Cell{c}, []*cell.Record{rec})
	if err != nil {
		t.Fatal(err)
	}
	p := page.New(page.Run{Meta: fixtureMeta()}, a, page.View{})
	if len(p.Machines) != 1 || p.Machines[0].Name != "" || len(p.Machines[0].Facts) == 0 || p.Machines[0].Facts[0].Value != "its CPU" {
		t.Errorf("%+v", p.Machines)
	}
}
