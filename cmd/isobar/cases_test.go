package main

import (
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/lab/workload"
	"github.com/isobar-go/isobar/internal/study/claim"
)

// casesOf returns the studies of the exercises with the given flags.
func casesOf(t *testing.T, flags map[string]string) []plan.Study {
	t.Helper()
	w, err := workload.Lookup("exercises")
	if err != nil {
		t.Fatal(err)
	}
	all := plan.Study{Workload: w.Name}
	for _, p := range w.Params {
		value, ok := flags[p.Name]
		if !ok {
			value = p.Default
		}
		values, err := plan.ParseLevels(value)
		if err != nil {
			t.Fatal(err)
		}
		all.Factors = append(all.Factors, plan.Factor{Name: p.Name, Levels: values})
	}
	studies, err := split(w, all, func(flag string) bool { _, ok := flags[flag]; return ok })
	if err != nil {
		t.Fatal(err)
	}
	return studies
}

// TestCases: without flags every exercise is a study with all its variants.
func TestCases(t *testing.T) {
	studies := casesOf(t, nil)
	if len(studies) != 18 {
		t.Errorf("%d studies, want 18", len(studies))
	}
	configs := 0
	for _, s := range studies {
		if err := checkStudy(s); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		own, err := s.Configs()
		if err != nil {
			t.Fatal(err)
		}
		if v := own[0].Params["variant"]; v != "before" || own[0].Study != s.Name {
			t.Errorf("%s begins with %s of %q", s.Name, v, own[0].Study)
		}
		configs += len(own)
	}
	if _, err := (plan.Spec{Studies: studies, Repetitions: 2, Seed: 1}).Cells(); err != nil {
		t.Error(err)
	}
	if configs != 49 {
		t.Errorf("%d configurations, want 49: is a variant missing?", configs)
	}
	if some := casesOf(t, map[string]string{"exercise": "3,15"}); len(some) != 2 ||
		some[1].Name != "exercises 15 errorsnew" {
		t.Errorf("of 3 and 15: %+v", some)
	}
	if chosen := casesOf(t, map[string]string{"exercise": "3,15", "variant": "before,after"}); len(chosen) != 1 ||
		chosen[0].Name != "" {
		t.Errorf("with variants: %+v", chosen)
	}
	w, _ := workload.Lookup("exercises")
	for _, levels := range [][]string{{"19"}, {"3", "19"}, {"3", "3"}, {""}} {
		bad := plan.Study{Workload: w.Name, Factors: []plan.Factor{{Name: "exercise", Levels: levels},
			{Name: "variant", Levels: []string{"before"}}}}
		if _, err := split(w, bad, func(flag string) bool { return flag == "exercise" }); err == nil {
			t.Errorf("exercises %q, and no error", levels)
		}
	}
}

// TestSaid: a run of studies of exercises judges the claims on these exercises only.
func TestSaid(t *testing.T) {
	spec := plan.Spec{Studies: casesOf(t, map[string]string{"exercise": "1,15"}), Repetitions: 8, Seed: 1}
	cells, err := spec.Cells()
	if err != nil {
		t.Fatal(err)
	}
	var records []*cell.Record
	for i, c := range cells {
		rec := &cell.Record{Cell: c}
		took := map[string]float64{"1 before": 850, "1 after": 100, "15 before": 10, "15 after": 10,
			"15 inlined": 10}[c.Params["exercise"]+" "+c.Params["variant"]]
		rec.Set(cell.OpCPU, took*(1+float64(i%7)/1000))
		records = append(records, rec)
	}
	a, err := stat.Analyze(cells, records)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]claim.Verdict{}
	for _, o := range claim.OfRun(a) {
		got[o.ID] = o.Verdict
	}
	if got["003/01-sprintf"] != claim.Holds || got["003/15-errors"] != claim.Refuted || got["003/02-bytes"] != "" {
		t.Errorf("%v", got)
	}
	for i := range cells {
		cells[i].Study, records[i].Cell.Study = "", ""
	}
	if a, err = stat.Analyze(cells, records); err != nil {
		t.Fatal(err)
	}
	if others := claim.OfRun(a); len(others) > 0 {
		t.Errorf("%d claims of a run without cases", len(others))
	}
}
