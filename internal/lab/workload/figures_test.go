package workload

import (
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestFigures(t *testing.T) {
	for _, tc := range []struct {
		name, output string
		want         map[string]float64
	}{
		{"benchmarks", "goos: linux\nBenchmarkA-2 \t 100\t 20.0 ns/op\t 3 MB/s\nBenchmarkB 5 80 ns/op\nPASS\n", map[string]float64{"ns/op": 40, "MB/s": 3}},
		{"own units", "BenchmarkLoad 1 1500 p99-ns 12 errors", map[string]float64{"p99-ns": 1500, "errors": 12}},
		{"document", `{"latencies": {"99th": 12.5, "unit": "ms"}, "rate": 7, "list": [1]}`, map[string]float64{"latencies.99th": 12.5, "rate": 7}},
		{"document of lines", "{\n \"rate\": 7\n}\n", map[string]float64{"rate": 7}},
		{"last line", "started\n{\"rate\": 1}\n{\"rate\": 2}\n", map[string]float64{"rate": 2}},
		{"neither", "BenchmarkA\nBenchmarkB x 1 ns/op\nBenchmarkC 1 2\nBenchmarkD 1 -2 ns/op\nnot {\"a\": 1}\n{broken\n", map[string]float64{}},
		{"long lines", strings.Repeat("Benchmark", 20_000) + " 1 2 ns/op\nBenchmarkX 1 2 ns/op\n", map[string]float64{"ns/op": 2}},
		{"nothing", "", map[string]float64{}},
	} {
		for _, in := range []io.Reader{strings.NewReader(tc.output), iotest.OneByteReader(strings.NewReader(tc.output))} {
			var f figures
			f.read(in)
			rec := &cell.Record{}
			f.record(rec)
			if f.written != int64(len(tc.output)) || len(rec.Metrics) != len(tc.want) {
				t.Errorf("%s: %d bytes, %v; want %d, %v", tc.name, f.written, rec.Metrics, len(tc.output), tc.want)
			}
			for name, want := range tc.want {
				if got := rec.Metrics[cell.FigurePrefix+name]; math.Abs(got-want) > 1e-9 {
					t.Errorf("%s: %s is %v, want %v", tc.name, name, got, want)
				}
			}
		}
	}
}

// TestFiguresOfMuch reads 1 GiB with and without line breaks: the readers keep none of it.
func TestFiguresOfMuch(t *testing.T) {
	for name, line := range map[string]string{"lines": strings.Repeat("a line ", 1000) + "\n", "no lines": strings.Repeat("x", 7000),
		"a document": strings.Repeat("{\"a\": ", 1000)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var f figures
		f.read(io.LimitReader(&repeated{line: line}, 1<<30))
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; f.written != 1<<30 || got > 32*maxJSON {
			t.Errorf("%s: %d bytes read, %d allocated", name, f.written, got)
		}
	}
}

// repeated is an endless repetition of a line.
type repeated struct {
	line string
	at   int
}

func (r *repeated) Read(p []byte) (n int, err error) {
	for n < len(p) {
		k := copy(p[n:], r.line[r.at:])
		n, r.at = n+k, (r.at+k)%len(r.line)
	}
	return n, nil
}

func TestServeParameters(t *testing.T) {
	w, err := Lookup("serve")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, value, want string }{
		{"url", "https://127.0.0.1/", "want a URL such as http://127.0.0.1:8080/path; for TLS or a Unix socket give a --load"},
		{"url", "http://10.0.0.1/", "loopback"},
		{"url", "http://localhost:80/x?y=1", ""},
		{"url", "http://app.localhost/", ""},
		{"ready", "127.0.0.1", "host:port"},
		{"ready", "127.0.0.1:80", ""},
		{"ready", "127.0.0.1:http", ""},
		{"ready", "unix:/run/app.sock", "host:port"},
		{"ready", "http://127.0.0.1/healthz", ""},
		{"rate", "-1", "number"},
	} {
		_, err := w.Resolve(map[string]string{tc.name: tc.value})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("--%s %s: %v, want %q", tc.name, tc.value, err, tc.want)
		}
	}
	if _, err := w.New(Env{Params: Params{"url": "http://127.0.0.1/"}}); err == nil || !strings.Contains(err.Error(), "after --") {
		t.Errorf("without a command: %v", err)
	}
}

func TestPlainEnv(t *testing.T) {
	got := cell.WithoutEnv([]string{"A=1", "GOGC=5", "GOMEMLIMIT=1", "GOMAXPROCS=1", "B=GOGC=7"}, "GOGC", "GOMEMLIMIT", "GOMAXPROCS")
	if strings.Join(got, " ") != "A=1 B=GOGC=7" {
		t.Errorf("%q", got)
	}
}
