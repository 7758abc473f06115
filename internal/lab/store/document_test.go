package store

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestDecode: a document comes back unchanged, whatever it contains.
func TestDecode(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	odd := testRecord(cell.Cell{}, rng)
	odd.Timeline = cell.Timeline{AtNs: []int64{-1, math.MaxInt64, math.MinInt64}, RSSBytes: []int64{0}}
	odd.Pauses = []cell.Pause{{AtNs: -5}, {Ns: math.MaxInt64}}
	odd.Stderr = `,"timeline":{"at_ns":[1]} and ,"pauses":[{"at_ns":1,"ns":2}]`
	odd.Buckets["timeline"], odd.Buckets["pauses"] = cell.Buckets{}, cell.Buckets{}
	for name, rec := range map[string]*cell.Record{"odd": odd, "empty": {}, "bare": {Timeline: cell.Timeline{AtNs: []int64{}}}} {
		data, err := encodeDocument(rec, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := *rec
		want.Cell, want.Metrics = cell.Cell{}, nil // these have tables
		if got, err := decodeDocument(data); err != nil || !reflect.DeepEqual(got, &want) {
			t.Errorf("%s: %v\n%+v, want\n%+v", name, err, got, want)
		}
	}
}

// TestQueryPlans: queries behind the pages find rows by key; none scans a whole table of records.
func TestQueryPlans(t *testing.T) {
	s := open(t, t.TempDir()+"/s.db")
	create(t, s, testPlan(2))
	for name, query := range map[string]string{
		"browse": selectRun + browse, "run": selectRun + "WHERE id = ?", "cells": selectCells, "documents": selectDocuments, "samples": selectSamples,
		"cell": selectCell, "cell samples": selectCellSamples,
	} {
		rows, err := s.db.Query("EXPLAIN QUERY PLAN "+query, 1, 2, "x", 3)
		if err != nil {
			rows, err = s.db.Query("EXPLAIN QUERY PLAN "+query, 1)
		}
		if err != nil {
			rows, err = s.db.Query("EXPLAIN QUERY PLAN "+query, 1, 2)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		steps := 0
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			steps++
			if strings.HasPrefix(detail, "SCAN") || strings.Contains(detail, "TEMP B-TREE") {
				t.Errorf("%s: %s", name, detail)
			}
		}
		if rows.Close(); steps == 0 {
			t.Errorf("%s: no plan", name)
		}
	}
}
