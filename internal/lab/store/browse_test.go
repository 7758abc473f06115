package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"
)

// TestBrowse pages through runs in both directions, with and without a filter.
func TestBrowse(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.db"))
	for i := range 25 {
		name := fmt.Sprintf("run %d", i+1)
		if i%5 == 0 {
			name += " Odd%_"
		}
		if _, err := s.CreateRun(Run{Name: name, Args: []string{"lab"}}, testPlan(1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		before int64
		filter string
		limit  int
		want   []int64
		older  bool
	}{
		{0, "", 3, []int64{25, 24, 23}, true},
		{23, "", 3, []int64{22, 21, 20}, true},
		{3, "", 3, []int64{2, 1}, false},
		{3, "", 2, []int64{2, 1}, false},
		{0, "", 30, []int64{25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, false},
		{0, "odd%_", 2, []int64{21, 16}, true},
		{16, "odd%_", 2, []int64{11, 6}, true},
		{0, "nothing", 2, nil, false},
		{1, "", 2, nil, false},
	} {
		runs, older, err := s.Browse(tc.before, tc.filter, tc.limit)
		if err != nil {
			t.Fatal(err)
		}
		var ids []int64
		for _, r := range runs {
			ids = append(ids, r.ID)
		}
		if !reflect.DeepEqual(ids, tc.want) || older != tc.older {
			t.Errorf("%+v: %v, older %v", tc, ids, older)
		}
	}
	if n, err := s.Count(); n != 25 || err != nil {
		t.Errorf("count %d, %v", n, err)
	}
}

// TestCell: reading single cells gives the same as Records.
func TestCell(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.db"))
	plan := testPlan(2)
	id := create(t, s, plan)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range plan[:3] {
		if err := s.Append(id, testRecord(c, rng), map[string][]byte{"cpu": {1}}); err != nil {
			t.Fatal(err)
		}
	}
	records, err := s.Records(id)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range plan {
		got, rec, err := s.Cell(id, i)
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Fatalf("cell %d: %v, %v", i, got, err)
		}
		if i >= 3 {
			if rec != nil {
				t.Errorf("cell %d has a record before it was measured", i)
			}
		} else if !reflect.DeepEqual(rec, records[i]) {
			t.Errorf("cell %d: %+v, want %+v", i, rec, records[i])
		}
	}
	for _, ask := range [][2]int64{{id, 6}, {id, -1}, {id + 1, 0}} {
		if _, _, err := s.Cell(ask[0], int(ask[1])); !errors.Is(err, ErrNotFound) {
			t.Errorf("cell %d of run %d: %v", ask[1], ask[0], err)
		}
	}
	if _, err := OpenReadOnly(filepath.Join(t.TempDir(), "none.db")); !errors.Is(err, ErrNotFound) {
		t.Errorf("no store: %v", err)
	}
}

func TestResume(t *testing.T) {
	for want, args := range map[string][]string{
		"lab run --resume 4":               {"lab", "run", "alloc", "--reps", "3", "--store", "x.db"},
		"lab run --resume 4 --fleet local": {"lab", "--fleet", "local"},
		"lab run --resume 4 --fleet=local": {"lab", "run", "exec", "--fleet=local", "--", "prog", "--fleet", "x"},
		"lab run --resume 4 --fleet-token-file 'a b' --fleet nats://h:1 --fleet-require 'cores>=8'": {"lab", "run", "alloc",
			"--fleet-token-file", "a b", "--seed", "1", "--fleet", "nats://h:1", "--fleet-require", "cores>=8"},
	} {
		if got := (Run{ID: 4, Args: args}).Resume(); got != want {
			t.Errorf("Resume of %q is %q, want %q", args, got, want)
		}
	}
}

func TestRepeat(t *testing.T) {
	for want, run := range map[string]Run{
		"isobar lab --seed 7": {Seed: 7, Args: []string{"lab"}},
		"isobar lab run exec --gc off --seed 7 -- go vet './a b'": {Seed: 7, Args: []string{"lab", "run", "exec", "--gc", "off", "--", "go", "vet", "./a b"}},
		"isobar lab run alloc --seed 9":                           {Seed: 9, Args: []string{"lab", "run", "alloc", "--seed", "9"}},
		`isobar lab run market --input 'it'\''s.csv' --seed 1`:    {Seed: 1, Args: []string{"lab", "run", "market", "--input", "it's.csv"}},
		"isobar lab run exec --seed=3 -- prog -- --seed":          {Seed: 3, Args: []string{"lab", "run", "exec", "--seed=3", "--", "prog", "--", "--seed"}},
		"isobar lab run exec --seed 5 -- prog --seed 6":           {Seed: 5, Args: []string{"lab", "run", "exec", "--", "prog", "--seed", "6"}},
		"": {Imported: true, Args: []string{"lab", "import", "x"}},
	} {
		if got := run.Repeat(); got != want {
			t.Errorf("Repeat of %q is %q, want %q", run.Args, got, want)
		}
	}
}
