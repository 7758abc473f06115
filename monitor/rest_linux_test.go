package monitor

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRest measures what a monitor that samples every second costs an
// otherwise idle process: the CPU time of the whole process as a share of one
// CPU, and its memory, heap and stacks, beyond that of a process without a
// monitor. Run it with -benchtime 1x: one operation takes twenty seconds.
func BenchmarkRest(b *testing.B) {
	b.Run("monitor=none", func(b *testing.B) { rest(b, func(testing.TB) {}) })
	b.Run("monitor=1s", func(b *testing.B) { rest(b, func(tb testing.TB) { start(tb, Config{Interval: time.Second}) }) })
	b.Run("monitor=1s-viewed", func(b *testing.B) {
		rest(b, func(tb testing.TB) {
			server := httptest.NewServer(start(tb, Config{Interval: time.Second}))
			tb.Cleanup(server.Close)
			r, err := http.Get(server.URL + "/stream")
			if err != nil || r.StatusCode != http.StatusOK {
				tb.Fatal(err, r)
			}
			tb.Cleanup(func() { r.Body.Close() })
			go io.Copy(io.Discard, r.Body)
		})
	})
}

func rest(b *testing.B, begin func(testing.TB)) {
	before := held()
	begin(b)
	bytes := held() - before
	cpu := cpuTime(b)
	b.ResetTimer()
	for range b.N {
		time.Sleep(20 * time.Second)
	}
	b.StopTimer()
	b.ReportMetric(100*float64(cpuTime(b)-cpu)/float64(b.Elapsed()), "cpu-%")
	b.ReportMetric(float64(bytes), "held-B")
}

// held returns the memory of heap and stacks, without garbage.
func held() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func cpuTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestDescriptors: neither a closed Monitor nor a refused one holds a file open
// until it is collected.
func TestDescriptors(t *testing.T) {
	open := func() (n int) {
		links, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			if name, _ := os.Readlink(link); strings.HasSuffix(name, "/statm") {
				n++
			}
		}
		return n
	}
	before := open()
	var kept []*Monitor
	for range 5 {
		m := start(t, Config{Interval: time.Hour, History: 10 * time.Hour})
		m.Close()
		if _, err := New(Config{Interval: time.Hour, History: time.Hour}); err == nil {
			t.Error("one interval of history was accepted")
		}
		kept = append(kept, m)
	}
	if n := open(); n > before {
		t.Errorf("%d files are open, %d before", n, before)
	}
	runtime.KeepAlive(kept)
}
