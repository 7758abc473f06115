package gcctl

import (
	"testing"
	"time"
)

func BenchmarkPauseEnd(b *testing.B) {
	c, err := Start(Config{Mode: Hybrid, LimitBytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.ReportAllocs()
	for b.Loop() {
		c.Pause().End()
	}
}

func BenchmarkPauseEndParallel(b *testing.B) {
	c, err := Start(Config{Mode: Hybrid, LimitBytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.Pause().End()
		}
	})
}

// BenchmarkIdle measures an Idle that decides against a collection.
func BenchmarkIdle(b *testing.B) {
	c, err := Start(Config{Mode: Idle, LimitBytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.ReportAllocs()
	for b.Loop() {
		c.Idle(time.Nanosecond)
	}
}

// BenchmarkPoll measures one look at the runtime: times polls per second, this
// is the cost of control.
func BenchmarkPoll(b *testing.B) {
	r, err := newRuntime()
	if err != nil {
		b.Fatal(err)
	}
	var s sample
	b.ReportAllocs()
	for b.Loop() {
		r.read(&s)
	}
}
