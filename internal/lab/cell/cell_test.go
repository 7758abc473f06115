package cell

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseGC(t *testing.T) {
	good := map[string]GC{
		"default":         DefaultGC,
		"tuned":           TunedGC,
		"disabled":        DisabledGC,
		"off":             DisabledGC,
		"1":               {Percent: 1},
		"11300":           {Percent: 11300},
		"200:512MiB":      {Percent: 200, LimitBytes: 512 << 20},
		"off:2GiB":        {Name: "disabled", Percent: -1, LimitBytes: 2 << 30},
		"default:1000000": {Name: "default", Percent: 100, LimitBytes: 1000000},
	}
	for s, want := range good {
		got, err := ParseGC(s)
		if err != nil || got != want {
			t.Errorf("ParseGC(%q) = %+v, %v; want %+v", s, got, err, want)
		}
		again, err := ParseGC(got.String())
		if err != nil || again != got {
			t.Errorf("ParseGC(%q.String()) = %+v, %v; want it back", s, again, err)
		}
	}
	for _, s := range []string{"", "0", "-1", "-5", "fast", "100%", "100:", "100:x", "100:0", "100:512", ":1GiB", "99999999999999999999", "100:9999999TiB"} {
		if got, err := ParseGC(s); err == nil {
			t.Errorf("ParseGC(%q) = %+v, want an error", s, got)
		} else if !strings.Contains(err.Error(), "want") {
			t.Errorf("ParseGC(%q): %v: does not say what is wanted", s, err)
		}
	}
}

// TestParseSize: a number without a unit is refused, as it may mean bytes or MiB.
func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{"1B": 1, "64KiB": 64 << 10, "512MiB": 512 << 20, "2GB": 2e9, "1": 0, "512": 0,
		"0MiB": 0, "MiB": 0, "": 0, "-1B": 0} {
		if got, err := ParseSize(s); err == nil && got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v; want %d", s, got, err, want)
		}
	}
}

func TestGCEnvSetsBoth(t *testing.T) {
	for gc, want := range map[GC][]string{
		DefaultGC:                          {"GOGC=100", "GOMEMLIMIT=off"},
		DisabledGC:                         {"GOGC=off", "GOMEMLIMIT=off"},
		{Percent: 50, LimitBytes: 1 << 20}: {"GOGC=50", "GOMEMLIMIT=1048576"},
	} {
		if got := gc.Env(); !reflect.DeepEqual(got, want) {
			t.Errorf("%v.Env() = %q, want %q", gc, got, want)
		}
	}
}

func TestGCEnvLeavesUnset(t *testing.T) {
	for gc, want := range map[GC][]string{
		DefaultGC:                           nil,
		{Percent: 50}:                       {"GOGC=50"},
		{Percent: 100, LimitBytes: 1 << 20}: {"GOMEMLIMIT=1048576"},
	} {
		if got := gc.Env(EnvGOGC, EnvLimit); !reflect.DeepEqual(got, want) {
			t.Errorf("%v.Env() = %q, want %q", gc, got, want)
		}
	}
}

func TestKey(t *testing.T) {
	c := Config{Workload: "market", Params: map[string]string{"pool": "on", "input": "a b/c%"}, GC: TunedGC, GOMAXPROCS: 2, Collector: "classic", Twin: true}
	want := "market/input=a%20b%2Fc%25/pool=on/gc=tuned/gomaxprocs=2/collector=classic/twin=aa"
	if got := c.Key(); got != want {
		t.Errorf("Key() = %q, want %q", got, want)
	}
	if got, want := Readable(want), "market/input=a b/c%/pool=on/gc=tuned/gomaxprocs=2/collector=classic/twin=aa"; got != want {
		t.Errorf("Readable = %q, want %q", got, want)
	}
	if got := Readable("100%"); got != "100%" {
		t.Errorf("Readable of no key of ours = %q", got)
	}
	exec := Config{Workload: "exec", Command: []string{"go", "vet"}, GC: GC{Percent: 50}}
	if got, want := exec.Key(), "exec/command=go%20vet/gc=50"; got != want {
		t.Errorf("Key() = %q, want %q", got, want)
	}
	if got, want := c.Factors(), []string{"workload", "input", "pool", "gc", "gomaxprocs", "collector", "twin"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Factors() = %q, want %q", got, want)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	r := Record{
		Cell:     Cell{Config: Config{Workload: "alloc", GC: DefaultGC}, Index: 3, Block: 1, Seed: 1<<64 - 1, Timeout: time.Minute},
		Started:  time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Err:      &Failure{Kind: FailTimeout, Message: "60 s"},
		Latency:  map[string][]byte{HistService: {1, 2, 3}},
		Buckets:  map[string]Buckets{HistPause: {Lower: []float64{0}, Upper: []float64{1e-6}, Count: []uint64{7}}},
		Timeline: Timeline{AtNs: []int64{1}, HeapBytes: []int64{2}},
	}
	r.Set(OpTime, 1.5)
	r.Warn("steal", "%d %%", 5)
	r.Warn("steal", "%d %%", 5)
	if len(r.Warnings) != 1 {
		t.Errorf("the same warning twice: %v", r.Warnings)
	}
	var buf bytes.Buffer
	if err := Encode(&buf, r); err != nil {
		t.Fatal(err)
	}
	var got Record
	if err := Decode(&buf, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, r) {
		t.Errorf("round trip:\n got %+v\nwant %+v", got, r)
	}
}

func TestDecodeRefuses(t *testing.T) {
	var c Cell
	if err := Decode(strings.NewReader(""), &c); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("empty input: %v, want io.ErrUnexpectedEOF", err)
	}
	for _, s := range []string{`{"workload":`, `{"wokload":"alloc"}`, `[]`} {
		if err := Decode(strings.NewReader(s), &c); err == nil {
			t.Errorf("Decode(%q) succeeded", s)
		}
	}
}

func TestMetricDirection(t *testing.T) {
	if !HigherIsBetter(Throughput) || HigherIsBetter(OpTime) {
		t.Error("throughput is better higher, time per operation lower")
	}
	if got := Unit(GCPauseMax); got != "seconds" {
		t.Errorf("Unit = %q", got)
	}
}

func TestEnvironmentGC(t *testing.T) {
	for _, tc := range []struct {
		environ []string
		want    GC
	}{
		{nil, DefaultGC},
		{[]string{"A=b", "GOGC=400"}, GC{Percent: 400}},
		{[]string{"GOGC=100", "GOMEMLIMIT=1GiB"}, GC{Name: "default", Percent: 100, LimitBytes: 1 << 30}},
		{[]string{"GOGC=off", "GOMEMLIMIT=off"}, GC{Percent: -1}},
		{[]string{"GOMEMLIMIT=2GiB", "GOGC=off"}, GC{Percent: -1, LimitBytes: 2 << 30}},
		{[]string{"GOGC=-1", "GOMEMLIMIT=1073741824"}, GC{Percent: -1, LimitBytes: 1 << 30}},
		{[]string{"GOGC=-5"}, GC{Percent: -1}},
		{[]string{"GOGC=", "GOMEMLIMIT=9223372036854775807"}, DefaultGC},
	} {
		if got, err := EnvironmentGC(tc.environ); got != tc.want || err != nil {
			t.Errorf("%q: %+v, %v", tc.environ, got, err)
		}
	}
	for entry, want := range map[string]string{"GOGC=many": "takes this for 100", "GOGC=1e3": "takes this for 100",
		"GOGC=0": "without end", "GOMEMLIMIT=0": "want a size", "GOMEMLIMIT=lots": "want a size"} {
		if _, err := EnvironmentGC([]string{entry}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", entry, err, want)
		}
	}
}
