package web

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/page"
)

// largeRun stores one of the many runs of TestLargeStore: 100 records, each
// with 12 figures.
func largeRun(t testing.TB, s *store.Store) int64 {
	t.Helper()
	plan := testPlan(34)[:100]
	id, err := s.CreateRun(store.Run{Name: "large", Created: time.Unix(1700000000, 0), Args: []string{"lab"}, Machine: cell.Machine{OS: "linux", CPU: "a CPU"}}, plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan {
		rec := testRecord(c)
		for i := range 12 {
			rec.Set(fmt.Sprintf("/figure/number/%d:ns", i), float64(c.Index*i))
		}
		if err := s.Append(id, rec, nil); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

// BenchmarkRunPage measures the parts of a run's page: reading and decoding its
// rows, statistics, drawings, and the whole page.
func BenchmarkRunPage(b *testing.B) {
	path := filepath.Join(b.TempDir(), "s.db")
	s := testStore(b, path)
	id := largeRun(b, s)
	_, plan, records, err := s.Whole(id)
	if err != nil {
		b.Fatal(err)
	}
	analysis, err := stat.Analyze(plan, records)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("part=rows", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, _, err := s.Whole(id); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("part=statistics", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := stat.Analyze(plan, records); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("part=drawings", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			page.New(page.Run{}, analysis, page.View{})
		}
	})
	b.Run("part=all", func(b *testing.B) {
		server := New(Config{Store: path})
		defer server.Close()
		b.ReportAllocs()
		for b.Loop() {
			if status, _, _ := get(b, server, fmt.Sprintf("/run/%d", id)); status != 200 {
				b.Fatal(status)
			}
		}
	})
}
