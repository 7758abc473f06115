package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/latency"
)

// testPlan returns a plan of 2 configurations and a twin in the given number of blocks.
func testPlan(blocks int) []cell.Cell {
	var cells []cell.Cell
	for block := range blocks {
		for i, config := range []cell.Config{
			{Workload: "strategies", Params: map[string]string{"strategy": "plain", "size": "1024"}, GC: cell.DefaultGC},
			{Workload: "strategies", Params: map[string]string{"strategy": "arena", "size": "1024"}, GC: cell.GC{Percent: 200, LimitBytes: 1 << 29}},
			{Workload: "strategies", Params: map[string]string{"strategy": "plain", "size": "1024"}, GC: cell.DefaultGC, Twin: true},
		} {
			cells = append(cells, cell.Cell{Config: config, Index: len(cells), Order: i, Block: block, Seed: 1<<63 + uint64(block)})
		}
	}
	return cells
}

// testRecord returns a record with a value in every field.
func testRecord(c cell.Cell, rng *rand.Rand) *cell.Record {
	var h latency.Histogram
	for range 100 {
		h.Record(time.Duration(rng.Int64N(1e6)))
	}
	data, err := h.MarshalBinary()
	if err != nil {
		panic(err)
	}
	rec := &cell.Record{
		Cell:     c,
		Started:  time.Unix(1700000000+int64(c.Index), 123).UTC(),
		Warnings: []cell.Warning{{Code: "steal", Text: "5 % of the time"}},
		Latency:  map[string][]byte{cell.HistService: data},
		Buckets:  map[string]cell.Buckets{cell.HistPause: {Lower: []float64{1e-5}, Upper: []float64{2e-5}, Count: []uint64{1 << 63}}},
		Timeline: cell.Timeline{AtNs: []int64{1, 2}, HeapBytes: []int64{3, 4}},
		Pauses:   []cell.Pause{{AtNs: 5, Ns: 6}},
		Noise:    cell.Noise{Steal: 0.05, CPUPressure: -1},
		Check:    "abc",
		Stderr:   "line\n",
	}
	rec.Set(cell.OpTime, 100+rng.Float64())
	rec.Set(cell.OpBytes, 0)
	rec.Set(cell.OpAllocs, rng.Float64())
	rec.Set(cell.Throughput, 1e7*rng.Float64())
	rec.Set(cell.GCCycles, 0)
	rec.Set(cell.GCPauseMax, 1e-4*rng.Float64())
	rec.Set(cell.RSSPeak, 1<<40+1)
	rec.Set("/custom/own:things", -rng.Float64())
	return rec
}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func create(t testing.TB, s *Store, cells []cell.Cell) int64 {
	t.Helper()
	id, err := s.CreateRun(Run{Name: "test", Created: time.Unix(0, 1).UTC(), Args: []string{"lab"}, Version: "v1", Seed: 1<<64 - 1,
		Machine: cell.Machine{OS: "linux", Arch: "amd64", CPU: "Some CPU", CPUs: 2}}, cells)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// check compares what the store returns with what was stored.
func check(t *testing.T, s *Store, run int64, cells []cell.Cell, want map[int]*cell.Record) {
	t.Helper()
	got, err := s.Records(run)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
	finished, failed := 0, 0
	for _, rec := range got {
		if !reflect.DeepEqual(rec, want[rec.Cell.Index]) {
			t.Errorf("cell %d:\n got %+v\nwant %+v", rec.Cell.Index, rec, want[rec.Cell.Index])
		}
		if rec.Err == nil {
			finished++
		} else {
			failed++
		}
	}
	planned, err := s.Cells(run)
	if err != nil || !reflect.DeepEqual(planned, cells) {
		t.Errorf("Cells: %v, %v, want %v", planned, err, cells)
	}
	var pending []cell.Cell
	for _, c := range cells {
		if want[c.Index] == nil {
			pending = append(pending, c)
		}
	}
	if p, err := s.Pending(run); err != nil || !reflect.DeepEqual(p, pending) {
		t.Errorf("Pending: %v, %v, want %v", p, err, pending)
	}
	r, err := s.Run(run)
	if err != nil || r.Total != len(cells) || r.Finished != finished || r.Failed != failed {
		t.Errorf("Run: %+v, %v, want %d finished, %d failed of %d", r, err, finished, failed, len(cells))
	}
}

// TestAgainstModel applies the same operations to a store and a map.
func TestAgainstModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "below", "store ?#%20.db")
	rng := rand.New(rand.NewPCG(1, 2))
	s := open(t, path)
	cells := testPlan(5)
	type model map[int]*cell.Record
	runs := map[int64]model{}
	profiles := map[string][]byte{}
	newest := int64(0)
	for step := range 150 {
		switch op := rng.IntN(20); {
		case op == 0 || len(runs) == 0:
			newest = create(t, s, cells)
			if runs[newest] != nil {
				t.Fatalf("run %d twice", newest)
			}
			runs[newest] = model{}
		case op == 1 && len(runs) > 1:
			for id := range runs {
				if err := s.Remove(id); err != nil {
					t.Fatal(err)
				}
				delete(runs, id)
				break
			}
		case op == 2:
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, path)
		default:
			for id, records := range runs {
				c := cells[rng.IntN(len(cells))]
				rec := testRecord(c, rng)
				if rng.IntN(4) == 0 {
					rec.Err = &cell.Failure{Kind: cell.FailTimeout, Message: "60 s"}
				}
				var kept map[string][]byte
				if rng.IntN(3) == 0 {
					kept = map[string][]byte{"cpu": fmt.Appendf(nil, "profile of step %d", step)}
					rec.Profiles = map[string]string{"cpu": "/tmp/file"}
				}
				err := s.Append(id, rec, kept)
				if records[c.Index] != nil {
					if err == nil || !strings.Contains(err.Error(), "has a record") {
						t.Fatalf("second record of a cell: %v", err)
					}
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if kept != nil {
					rec.Profiles["cpu"] = ""
					profiles[fmt.Sprint(id, c.Index)] = kept["cpu"]
				}
				records[c.Index] = rec
				break
			}
		}
	}
	for id, records := range runs {
		check(t, s, id, cells, records)
		for _, rec := range records {
			data, err := s.Profile(id, rec.Cell.Index, "cpu")
			if want := profiles[fmt.Sprint(id, rec.Cell.Index)]; rec.Profiles == nil {
				if err == nil {
					t.Errorf("cell %d has a profile", rec.Cell.Index)
				}
			} else if err != nil || !bytes.Equal(data, want) {
				t.Errorf("Profile: %q, %v, want %q", data, err, want)
			}
		}
	}
	list, err := s.Runs()
	if err != nil || len(list) != len(runs) {
		t.Errorf("Runs: %v, %v, want %d", list, err, len(runs))
	}
	if last, err := s.Last(); err != nil || last.ID != list[len(list)-1].ID {
		t.Errorf("Last: %v, %v", last, err)
	}
}

func TestRunRoundTrip(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.db"))
	want := Run{Name: "n", Created: time.Unix(12, 34), Args: []string{"a b", "c"}, Version: "v", Machine: cell.Machine{CPU: "x", CPUs: 3, Warnings: []string{"w"}}, Seed: 1 << 63, Imported: true}
	id, err := s.CreateRun(want, testPlan(1))
	if err != nil {
		t.Fatal(err)
	}
	want.ID, want.Total = id, 3
	if got, err := s.Run(id); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	if err := s.Remove(id); err != nil {
		t.Fatal(err)
	}
	if again, err := s.CreateRun(want, nil); err != nil || again == id {
		t.Errorf("run number %d given again, %v", again, err)
	}
}

func TestRefusesWhatIsWrong(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.db"))
	cells := testPlan(1)
	id := create(t, s, cells)
	rng := rand.New(rand.NewPCG(1, 1))
	bad := testRecord(cells[0], rng)
	bad.Cell.Index = 99
	nan := testRecord(cells[0], rng)
	nan.Metrics["/x:y"] = nan.Metrics["/x:y"] / nan.Metrics["/x:y"]
	gap := testPlan(1)
	gap[1].Index = 7
	for name, err := range map[string]error{
		"no cell 99":      s.Append(id, bad, nil),
		"/x:y is NaN":     s.Append(id, nan, nil),
		"no cell 0":       s.Append(id+1, testRecord(cells[0], rng), nil),
		"no run 9":        s.Remove(9),
		"has index 7":     second(s.CreateRun(Run{}, gap)),
		"no run 8":        second(s.Records(8)),
		"no run 7":        second(s.Pending(7)),
		"no run 6":        second(s.Cells(6)),
		"no heap profile": second(s.Profile(id, 0, "heap")),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error with %q", err, name)
		}
	}
	check(t, s, id, cells, nil)
}

func second[T any](_ T, err error) error { return err }

func TestConcurrentOpeners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	cells := testPlan(8)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			id, err := s.CreateRun(Run{Name: fmt.Sprint(i)}, cells)
			if err != nil {
				t.Error(err)
				return
			}
			rng := rand.New(rand.NewPCG(uint64(i), 0))
			for _, c := range cells {
				if err := s.Append(id, testRecord(c, rng), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s, err := OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	runs, err := s.Runs()
	if err != nil || len(runs) != 8 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for _, r := range runs {
		if r.Finished != len(cells) {
			t.Errorf("run %s: %d records, want %d", r.Name, r.Finished, len(cells))
		}
	}
	if _, err := s.CreateRun(Run{}, nil); err == nil {
		t.Error("a store opened for reading was written")
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) > 3 {
		t.Errorf("files left: %v", entries)
	}
}

func TestRemoveGivesSpaceBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := open(t, path)
	cells := testPlan(1)
	id := create(t, s, cells)
	noise := make([]byte, 4<<20)
	rand.NewChaCha8([32]byte{}).Read(noise)
	if err := s.Append(id, testRecord(cells[0], rand.New(rand.NewPCG(1, 1))), map[string][]byte{"trace": noise}); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(id); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal"} {
		if info, err := os.Stat(name); err == nil && info.Size() > 1<<20 {
			t.Errorf("%s still has %d bytes", filepath.Base(name), info.Size())
		}
	}
}

// TestListReadsNoDocument: runs are listed even if documents are large or damaged.
func TestListReadsNoDocument(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.db"))
	cells := testPlan(1)
	id := create(t, s, cells)
	if err := s.Append(id, testRecord(cells[0], rand.New(rand.NewPCG(1, 1))), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("UPDATE document SET data = x'00'"); err != nil {
		t.Fatal(err)
	}
	if runs, err := s.Runs(); err != nil || len(runs) != 1 || runs[0].Finished != 1 {
		t.Errorf("%+v, %v", runs, err)
	}
	if _, err := s.Records(id); err == nil || !strings.Contains(err.Error(), "record of cell 0 is damaged") {
		t.Errorf("a damaged document: %v", err)
	}
}
