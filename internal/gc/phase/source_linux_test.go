package phase

import (
	"io"
	"runtime/metrics"
	"runtime/trace"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkSource measures the CPU time that a program spends on observing its collector,
// for each source of this information. It runs the same work, allocation beside a live heap
// so that collections follow one another, alternately with and without the source. It
// reports the median of the ratios and its quartiles; source=none is the noise.
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
	} {
		b.Run("source="+s.name, func(b *testing.B) {
			live := grow(16)
			var ratios []float64
			for i := 0; b.Loop(); i++ {
				var took [2]float64 // without, with
				for k := range 2 {
					side := (i + k) % 2
					stop := func() {}
					if side == 1 {
						stop = s.start(b)
					}
					began := cpuTime(b)
					for range 4000 {
						sink = grow(6)
					}
					took[side] = cpuTime(b) - began
					stop()
				}
				ratios = append(ratios, took[1]/took[0])
			}
			sink = live
			slices.Sort(ratios)
			for name, q := range map[string]float64{"ratio-q25": 0.25, "ratio": 0.5, "ratio-q75": 0.75} {
				b.ReportMetric(ratios[int(q*float64(len(ratios)-1)+0.5)], name)
			}
		})
	}
}

// cpuTime returns the CPU time of the process in seconds.
func cpuTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// pollMetrics repeatedly reads the collector's CPU time.
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
