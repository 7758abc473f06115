package workload

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/http11"
	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

var httpMemories = []given{{"mode": "heap"}}

func init() {
	for _, mode := range http11.MemoryModes() {
		httpMemories = append(httpMemories, given{"mode": mode.String()})
		if mode.Info().OffHeap {
			httpMemories = append(httpMemories, given{"mode": mode.String(), "offheap": "on"})
		}
	}
	if haveGoArena {
		httpMemories = append(httpMemories, given{"mode": "goarena"})
	}
}

// TestGoArena: a build without Go's arenas says how to get them.
func TestGoArena(t *testing.T) {
	task, err := tryBuild("httpmem", given{"mode": "goarena"}, 1)
	if haveGoArena {
		if err != nil || task.Close() != nil {
			t.Error(err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), "GOEXPERIMENT=arenas") {
		t.Errorf("mode=goarena: %v, want an error with the remedy", err)
	}
}

func (g given) and(name, value string) given {
	h := given{name: value}
	for k, v := range g {
		h[k] = v
	}
	return h
}

// TestHTTPMemoriesReadTheSame: all memories do the same work, and only the heap allocates for it.
func TestHTTPMemoriesReadTheSame(t *testing.T) {
	for _, shape := range []string{"typical", "headers", "large", "line"} {
		for _, held := range []string{"1", "100"} {
			want := uint64(0)
			for _, g := range httpMemories {
				task := build(t, "httpmem", g.and("shape", shape).and("held", held), 1).(*httpMem)
				sum := task.Loop(0, 250)
				if want == 0 {
					want = sum
				}
				if sum != want || sum == 0 {
					t.Errorf("%v %s: sum %d, want %d", g, shape, sum, want)
				}
				allocs := testing.AllocsPerRun(200, func() { task.Loop(0, 1) })
				allocates := g["mode"] == "heap" || g["mode"] == "goarena"
				if allocates && allocs < 1 || !allocates && allocs > 0 && !invariant.Enabled {
					t.Errorf("%v %s held=%s: %v allocations an operation", g, shape, held, allocs)
				}
				var rec cell.Record
				task.Report(&rec)
				if held := rec.Metrics["/httpmem/used:bytes"]; !allocates && (held < 1 || held > rec.Metrics["/httpmem/held:bytes"]) {
					t.Errorf("%v %s: %v bytes used of %v", g, shape, held, rec.Metrics["/httpmem/held:bytes"])
				}
				if err := task.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// BenchmarkHTTPMem compares equal work: one operation builds and reads one
// request.
func BenchmarkHTTPMem(b *testing.B) {
	for _, shape := range []string{"typical", "headers", "large"} {
		for _, g := range httpMemories {
			name := g["mode"]
			if g["offheap"] == "on" {
				name += "-offheap"
			}
			b.Run("shape="+shape+"/mode="+name, func(b *testing.B) {
				task := build(b, "httpmem", g.and("shape", shape), 1).(*httpMem)
				b.ReportAllocs()
				task.Loop(0, int64(b.N))
				if err := task.Close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
