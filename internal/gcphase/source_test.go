package gcphase

import (
	"io"
	"runtime/metrics"
	"runtime/trace"
	"testing"
	"time"
)

// BenchmarkSource shows what it costs a program to know what its collector does,
// by where that is known from: an operation makes 100 trees beside a live heap,
// so that collections follow one another.
func BenchmarkSource(b *testing.B) {
	for _, s := range []struct {
		name  string
		start func(b *testing.B) (stop func())
	}{
		{"none", func(*testing.B) func() { return func() {} }},
		{"metrics-1ms", func(*testing.B) func() { return pollMetrics(time.Millisecond) }},
		{"trace", func(b *testing.B) func() {
			if err := trace.Start(io.Discard); err != nil {
				b.Skip(err)
			}
			return trace.Stop
		}},
		{"flight", func(b *testing.B) func() {
			f := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: 10 * time.Second, MaxBytes: 8 << 20})
			if err := f.Start(); err != nil {
				b.Skip(err)
			}
			return f.Stop
		}},
		{"none-again", func(*testing.B) func() { return func() {} }},
	} {
		b.Run("source="+s.name, func(b *testing.B) {
			live := grow(16)
			stop := s.start(b)
			defer stop()
			for b.Loop() {
				for range 100 {
					sink = grow(6)
				}
			}
			sink = live
		})
	}
}

// pollMetrics reads the CPU time of the collector again and again.
func pollMetrics(every time.Duration) (stop func()) {
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/mark/assist:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"}, {Name: "/sched/pauses/total/gc:seconds"}}
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				metrics.Read(samples)
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-done }
}
