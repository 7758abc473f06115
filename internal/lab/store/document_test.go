package store

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// pack compresses a document.
func pack(text string) []byte {
	var buf bytes.Buffer
	z := zlib.NewWriter(&buf)
	z.Write([]byte(text))
	z.Close()
	return buf.Bytes()
}

// generally decodes a document without the short way.
func generally(data []byte) (*cell.Record, error) {
	text, err := inflate(data)
	if err != nil {
		return nil, err
	}
	rec := new(cell.Record)
	return rec, cell.Decode(bytes.NewReader(text), rec)
}

func largeRecord(rng *rand.Rand) *cell.Record {
	rec := testRecord(cell.Cell{}, rng)
	rec.Timeline, rec.Pauses = cell.Timeline{}, nil
	for i := range 1000 {
		rec.Timeline.AtNs = append(rec.Timeline.AtNs, int64(i)*1_000_003)
		rec.Timeline.HeapBytes = append(rec.Timeline.HeapBytes, rng.Int64N(1<<30))
		rec.Timeline.GoalBytes = append(rec.Timeline.GoalBytes, rng.Int64N(1<<30))
		rec.Timeline.Cycles = append(rec.Timeline.Cycles, int64(i/10))
		rec.Pauses = append(rec.Pauses, cell.Pause{AtNs: int64(i) * 999_983, Ns: rng.Int64N(1e6)})
	}
	return rec
}

// TestDecode compares the short way with the general one.
func TestDecode(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	large := largeRecord(rng)
	odd := testRecord(cell.Cell{}, rng)
	odd.Timeline = cell.Timeline{AtNs: []int64{-1, math.MaxInt64, math.MinInt64}, RSSBytes: []int64{0}}
	odd.Pauses = []cell.Pause{{AtNs: -5}, {Ns: math.MaxInt64}}
	odd.Stderr = `,"timeline":{"at_ns":[1]} and ,"pauses":[{"at_ns":1,"ns":2}]`
	odd.Buckets["timeline"], odd.Buckets["pauses"] = cell.Buckets{}, cell.Buckets{}
	for name, rec := range map[string]*cell.Record{"large": large, "odd": odd, "empty": {}, "bare": {Timeline: cell.Timeline{AtNs: []int64{}}}} {
		data, err := encodeDocument(rec, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := generally(data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeDocument(data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n%+v, want\n%+v", name, err, got, want)
		}
	}
	text, _ := inflate(must(encodeDocument(large, nil)))
	rest, line, ok := cut(text, timelineKey, (*scanner).timeline)
	if !ok || !reflect.DeepEqual(line, large.Timeline) || strings.Contains(string(rest), "at_ns\":[") {
		t.Error("the short way is not taken")
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// FuzzColumns looks for documents that the two ways take differently.
func FuzzColumns(f *testing.F) {
	text, _ := inflate(must(encodeDocument(testRecord(cell.Cell{}, rand.New(rand.NewPCG(1, 2))), nil)))
	f.Add(string(text))
	for _, s := range []string{`{"timeline":{}}`, `{"check":"a","timeline":{}}`, `{"check":"a","timeline":{"at_ns":[01]}}`, `{"check":"a","timeline":{"at_ns":[1e3],"at_ns":[2]}}`,
		`{"check":"a","pauses":[{"at_ns":1,"ns":2}],"pauses":[]}`, `{"check":"a","pauses":[{"at_ns":-0,"ns":2}]}`, `{"check":"a","timeline":{"at_ns":[1]},"timeline":{"cycles":[2]}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		data := pack(text)
		got, err := decodeDocument(data) // which must not panic, whatever it is
		want, wantErr := generally(data)
		if lower := strings.ToLower(text); wantErr != nil || !json.Valid([]byte(text)) || strings.Count(lower, "timeline") > 1 || strings.Count(lower, "pauses") > 1 {
			return // nobody writes such documents, or a field twice
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %v, %+v, want %+v", text, err, got, want)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	data := must(encodeDocument(largeRecord(rand.New(rand.NewPCG(3, 4))), nil))
	b.Run("way=general", func(b *testing.B) {
		for b.Loop() {
			generally(data)
		}
	})
	b.Run("way=columns", func(b *testing.B) {
		for b.Loop() {
			decodeDocument(data)
		}
	})
}

// TestQueryPlans holds that what the pages read of a large store is found by
// keys: no table of records is read from end to end.
func TestQueryPlans(t *testing.T) {
	s := open(t, t.TempDir()+"/s.db")
	create(t, s, testPlan(2))
	for name, query := range map[string]string{
		"browse": selectRun + browse + "ORDER BY id DESC LIMIT ?4", "run": selectRun + "WHERE id = ?", "cells": selectCells, "documents": selectDocuments, "samples": selectSamples,
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
