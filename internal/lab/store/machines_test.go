package store

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestMachinesTravel: exports of a fleet's run keep its machines apart, and importing
// them restores the machines.
func TestMachinesTravel(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var plan []cell.Cell
	for block := range 4 {
		plan = append(plan, cell.Cell{Config: cell.Config{Workload: "w", GC: cell.DefaultGC}, Index: block, Block: block})
	}
	id, err := s.CreateRun(Run{Name: "fleet", Created: time.Unix(1, 0), Machine: cell.Machine{Hostname: "home", OS: "linux", CPU: "own CPU", CPUs: 2}}, plan)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range plan {
		rec := &cell.Record{Cell: c, Metrics: map[string]float64{cell.OpTime: float64(i + 1)}}
		if i < 3 { // the last one was measured at home
			rec.Origin = &cell.Origin{Worker: fmt.Sprint("w", i%2), Machine: cell.Machine{Hostname: fmt.Sprint("h", i%2), OS: "linux", CPU: fmt.Sprint("CPU ", i%2), CPUs: 8}}
		}
		if err := s.Append(id, rec, nil); err != nil {
			t.Fatal(err)
		}
	}
	var bench, csv bytes.Buffer
	if err := s.Export(&bench, id, "benchfmt"); err != nil {
		t.Fatal(err)
	}
	if err := s.Export(&csv, id, "csv"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"machine: w0\nhost: h0\ncpu: CPU 0\n# isobar: {\"cell\":", "machine: w1\nhost: h1\ncpu: CPU 1\n# isobar: {\"cell\":", "machine: \nhost: \ncpu: own CPU\n# isobar: {\"cell\":", "W/gc=default-8", "W/gc=default-2"} {
		if !strings.Contains(bench.String(), want) {
			t.Errorf("the benchmarks lack %q:\n%s", want, &bench)
		}
	}
	for _, want := range []string{"run,cell,block,key,machine,host,", ",0,0,w/gc=default,w0,h0,", ",1,1,w/gc=default,w1,h1,", ",3,3,w/gc=default,,home,"} {
		if !strings.Contains(csv.String(), want) {
			t.Errorf("the CSV lacks %q:\n%s", want, &csv)
		}
	}
	back, err := s.Import(&bench, "again", Run{Created: time.Unix(2, 0)})
	if err != nil {
		t.Fatal(err)
	}
	records, err := s.Records(back)
	if err != nil {
		t.Fatal(err)
	}
	for i, rec := range records {
		switch o := rec.Origin; {
		case i == 3 && o != nil, i < 3 && (o == nil || o.Worker != fmt.Sprint("w", i%2) || o.Machine.Hostname != fmt.Sprint("h", i%2) || o.Machine.CPU != fmt.Sprint("CPU ", i%2)):
			t.Errorf("record %d is of %+v", i, o)
		}
	}
}
