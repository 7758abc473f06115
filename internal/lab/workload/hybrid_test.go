package workload

import (
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestHybridSchedule(t *testing.T) {
	g := given{"tickrate": "1_000", "busy": "10ms", "idle": "90ms", "duration": "250ms", "live": "1MiB", "controller": "none"}
	sum, dues, err := driveOpen(build(t, "hybrid", g, 1).(Open))
	if err != nil || len(dues) != 30 {
		t.Fatalf("%d ticks, %v; want three bursts of 10", len(dues), err)
	}
	for i, due := range dues {
		if want := time.Duration(i/10)*100*time.Millisecond + time.Duration(i%10)*time.Millisecond; due != want {
			t.Errorf("tick %d is due at %v, want %v", i, due, want)
		}
	}
	if again, _, _ := driveOpen(build(t, "hybrid", g, 1).(Open)); again != sum {
		t.Errorf("again: checksum %#x, want %#x", again, sum)
	}
	if other, _, _ := driveOpen(build(t, "hybrid", g, 2).(Open)); other == sum {
		t.Error("another seed, the same checksum")
	}
	g["controller"] = "hybrid"
	if under, _, _ := driveOpen(build(t, "hybrid", g, 1).(Open)); under != sum {
		t.Errorf("under a controller: checksum %#x, want %#x", under, sum)
	}
}

func TestHybridWithoutIdleTime(t *testing.T) {
	g := given{"tickrate": "100_000", "busy": "1ms", "idle": "0", "duration": "10ms", "live": "1MiB", "controller": "none"}
	_, dues, err := driveOpen(build(t, "hybrid", g, 1).(Open))
	if err != nil || len(dues) != 1000 {
		t.Fatalf("%d ticks, %v; want 1000", len(dues), err)
	}
	for i, due := range dues {
		if want := time.Duration(i) * 10 * time.Microsecond; due != want {
			t.Fatalf("tick %d is due at %v, want %v", i, due, want)
		}
	}
}

// TestHybridSections follows the section from burst to burst.
func TestHybridSections(t *testing.T) {
	for _, sections := range []string{"on", "off"} {
		g := given{"tickrate": "1_000", "busy": "3ms", "idle": "1h", "duration": "2h", "live": "1MiB", "controller": "hybrid", "sections": sections}
		task, err := tryBuild("hybrid", g, 1)
		if err != nil {
			t.Fatal(err)
		}
		h := task.(*hybrid)
		for i := range 6 {
			if _, ok, err := h.Next(); !ok || err != nil {
				t.Fatal("no tick", err)
			}
			if n := h.ctl.Stats().Open; i%3 == 0 && n != 0 {
				t.Errorf("sections %s: %d open before burst %d", sections, n, i/3)
			}
			h.Do()
			if open := h.ctl.Stats().Open == 1; open != (sections == "on") {
				t.Errorf("sections %s: open = %v in tick %d", sections, open, i)
			}
		}
		var rec cell.Record
		h.Report(&rec)
		if begun := rec.Metrics["/hybrid/sections:sections"]; sections == "on" && begun != 2 || sections == "off" && begun != 0 {
			t.Errorf("sections %s: %v begun in two bursts", sections, begun)
		}
		if err := h.Close(); err != nil { // in the middle of the second burst
			t.Error(err)
		}
		if n := h.ctl.Stats().Open; n != 0 {
			t.Errorf("%d sections are open after Close", n)
		}
	}
}

func TestHybridKeepsItsLiveHeap(t *testing.T) {
	g := given{"tickrate": "10_000", "busy": "100ms", "idle": "0", "duration": "100ms", "live": "1MiB", "controller": "none"}
	h := build(t, "hybrid", g, 1).(*hybrid)
	if _, dues, err := driveOpen(h); err != nil || len(dues) != 1000 {
		t.Fatalf("%d ticks, %v", len(dues), err)
	}
	if got := len(h.store.trees) * TreeBytes; got != 1<<20 {
		t.Errorf("%d bytes of trees, want %d", got, 1<<20)
	}
	var ticks int64
	for _, s := range h.symbols {
		ticks += s.count
	}
	if ticks != 1000 {
		t.Errorf("%d ticks in the statistics, want 1000", ticks)
	}
}
