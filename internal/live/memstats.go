package live

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/isobar-go/isobar/monitor"
)

// noGoal is the least goal that means that there is none.
const noGoal = 1 << 50

// Figures from runtime.MemStats: keys and charts shared with package monitor, and a few of its own.
var statsFigures = []monitor.Figure{
	{Key: "/heap/objects:bytes", Help: "Objects, live and not yet swept.", Chart: "Heap"},
	{Key: "/heap/goal:bytes", Help: "Heap size at which a collection should end.", Chart: "Heap"},
	{Key: "/memory/mapped:bytes", Help: "Memory mapped by the Go runtime, including released memory.",
		Chart: "Memory of the process"},
	{Key: "/memory/released:bytes", Help: "Mapped memory released to the system.",
		Chart: "Memory of the process"},
	{Key: "/memory/stacks:bytes", Help: "Goroutine stacks.", Chart: "Memory of the process"},
	{Key: "/gc/cpu/share:percent",
		Help:  "Share of the available CPU time that the collector has taken since the program started.",
		Chart: "GC share of CPU time since the start"},
	{Key: "/alloc/size:bytes", Help: "Bytes allocated.", Counter: true, Chart: "Allocation"},
	{Key: "/alloc/all:objects", Help: "Objects allocated.", Counter: true, Chart: "Objects allocated"},
	{Key: "/gc/cycles:gc-cycles", Help: "Collections.", Counter: true, Chart: "Collections"},
	{Key: "/gc/cycles-forced:gc-cycles", Help: "Collections forced by the program.", Counter: true,
		Chart: "Collections"},
	{Key: "/gc/pause/max:seconds",
		Help:  "Longest stop-the-world time for a collection, its two pauses added up, since the last sample.",
		Chart: "GC pauses"},
	{Key: "/gc/pause/total:seconds", Help: "Total stop-the-world time for collections.", Counter: true,
		Chart: "Share of time in pauses"},
	{Key: "/sched/goroutines:goroutines", Help: "Existing goroutines.", Chart: "Goroutines"},
	{Key: "/memory/resident-max:bytes", Help: "Peak resident memory of the process.",
		Chart: "Memory of the process"},
}

// A reading is an answer from expvar or pprof.
type reading struct {
	runtime.MemStats
	cmdline    string  // its arguments, joined by 0 bytes; "" if unknown
	goroutines float64 // NaN if unknown, as are
	maxRSS     float64
}

// continues reports whether r may come later from the process of an earlier reading. Counters
// alone do not tell: a new process may have allocated more than the old one had.
func (r *reading) continues(last *reading) bool {
	if r.TotalAlloc < last.TotalAlloc || r.Mallocs < last.Mallocs || r.NumGC < last.NumGC ||
		r.NumForcedGC < last.NumForcedGC {
		return false
	}
	// The ring of pauses keeps that of the last collection until as many others have followed.
	n := uint32(len(r.PauseNs))
	at := (last.NumGC + n - 1) % n
	return r.NumGC-last.NumGC >= n || r.PauseNs[at] == last.PauseNs[at]
}

// values returns the values of statsFigures. The longest pause covers the collections after
// the first seen ones, as far as they are still in the ring of 256.
func (r *reading) values(seen uint32) []float64 {
	m := &r.MemStats
	goal := float64(m.NextGC)
	if goal >= noGoal {
		goal = math.NaN()
	}
	longest := math.NaN()
	for n := max(int64(seen), int64(m.NumGC)-int64(len(m.PauseNs))) + 1; n <= int64(m.NumGC); n++ {
		pause := float64(m.PauseNs[(n+255)%256]) / 1e9
		if !(pause <= longest) {
			longest = pause
		}
	}
	total := float64(m.PauseTotalNs) / 1e9
	if m.PauseTotalNs == 0 && m.NumGC > 0 { // pprof does not report it
		total = math.NaN()
	}
	return []float64{float64(m.HeapAlloc), goal, float64(m.Sys), float64(m.HeapReleased), float64(m.StackInuse),
		m.GCCPUFraction * 100,
		float64(m.TotalAlloc), float64(m.Mallocs), float64(m.NumGC), float64(m.NumForcedGC), longest, total, r.goroutines,
		r.maxRSS}
}

// program returns the name of the program, "" if it is unknown.
func (r *reading) program() string {
	first, _, _ := strings.Cut(r.cmdline, "\x00")
	if first == "" {
		return ""
	}
	return filepath.Base(first)
}

// A poll reads runtime.MemStats repeatedly.
type poll struct {
	url    string
	client *client
	read   func(ctx context.Context, client *client, url string) (*reading, error)
	config Config
	first  *reading // from open, not yet a sample
	last   *reading
	at     time.Time // of last
}

func openVars(ctx context.Context, client *client, url string, c Config) (*sampler, error) {
	return (&poll{url: url, client: client, read: readVars, config: c}).open(ctx)
}

func openPprof(ctx context.Context, client *client, url string, c Config) (*sampler, error) {
	return (&poll{url: url, client: client, read: readPprof, config: c}).open(ctx)
}

func (p *poll) open(ctx context.Context) (s *sampler, err error) {
	if p.first, err = p.read(ctx, p.client, p.url); err != nil {
		return nil, err
	}
	return &sampler{url: p.url, next: p.next, close: func() {}, cmdline: p.first.cmdline,
		notes: []string{"runtime.MemStats has no collector CPU time by kind, no scheduler latency and no memory limit: " +
			"mount monitor.Handler() in the program for those; each sample stops its world briefly"}}, nil
}

func (p *poll) next(ctx context.Context) (Sample, error) {
	now, r := time.Now(), p.first
	p.first = nil
	if r == nil {
		if !await(ctx, p.config.Interval-time.Since(p.at)) {
			return Sample{}, ctx.Err()
		}
		var err error
		now = time.Now()
		if r, err = p.read(ctx, p.client, p.url); err != nil {
			return Sample{}, fmt.Errorf("watch: %w", err)
		}
	}
	seen, restarted := r.NumGC, p.last != nil && !r.continues(p.last)
	if p.last != nil && !restarted {
		seen = p.last.NumGC
	}
	p.last, p.at = r, now
	s := Sample{At: now, Process: monitor.Process{Program: r.program()}, Figures: statsFigures, Values: r.values(seen)}
	if restarted {
		return s, errRestarted
	}
	return s, nil
}

// readVars reads the values published by expvar.
func readVars(ctx context.Context, client *client, url string) (*reading, error) {
	body, err := get(ctx, client, url)
	if err != nil {
		return nil, err
	}
	var vars struct {
		Cmdline  []string
		Memstats *runtime.MemStats
	}
	if err := json.Unmarshal(body, &vars); err != nil || vars.Memstats == nil || vars.Memstats.Sys == 0 {
		return nil, fmt.Errorf("%w: %s: no memstats", errNotHere, url)
	}
	return &reading{MemStats: *vars.Memstats, cmdline: strings.Join(vars.Cmdline, "\x00"), goroutines: math.NaN(),
		maxRSS: math.NaN()}, nil
}

var goroutineCount = regexp.MustCompile(`<td>(\d+)</td>\s*<td>\s*<a href=['"]?goroutine\?`)

// readPprof reads the statistics at the end of a heap profile, the number of
// goroutines on the index page, and the command line.
func readPprof(ctx context.Context, client *client, url string) (*reading, error) {
	body, err := get(ctx, client, url+"heap?debug=1")
	if err != nil {
		return nil, err
	}
	r, err := parseHeap(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, url)
	}
	if index, err := get(ctx, client, url); err == nil {
		if m := goroutineCount.FindSubmatch(index); m != nil {
			r.goroutines, _ = strconv.ParseFloat(string(m[1]), 64)
		}
	}
	if line, err := get(ctx, client, url+"cmdline"); err == nil {
		r.cmdline = string(line)
	}
	return r, nil
}

// parseHeap parses the comment at the end of a heap profile in text form.
func parseHeap(body []byte) (*reading, error) {
	_, stats, ok := bytes.Cut(body, []byte("\n# runtime.MemStats\n"))
	if !ok {
		return nil, fmt.Errorf("%w: no heap profile in text form", errNotHere)
	}
	r := &reading{goroutines: math.NaN(), maxRSS: math.NaN()}
	m := &r.MemStats
	fields := map[string]any{
		"HeapAlloc": &m.HeapAlloc, "NextGC": &m.NextGC, "Sys": &m.Sys, "TotalAlloc": &m.TotalAlloc, "Mallocs": &m.Mallocs,
		"HeapReleased": &m.HeapReleased, "NumGC": &m.NumGC, "NumForcedGC": &m.NumForcedGC, "MaxRSS": &r.maxRSS,
		"GCCPUFraction": &m.GCCPUFraction,
		"Stack":         &m.StackInuse, // in use / obtained from the system
	}
	lines := bufio.NewScanner(bytes.NewReader(stats))
	for lines.Scan() {
		name, value, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "# "), " = ")
		if !ok {
			continue
		}
		if field := fields[name]; field != nil {
			if _, err := fmt.Sscan(value, field); err != nil {
				return nil, fmt.Errorf("%w: %s = %.40q", errNotHere, name, value)
			}
		}
		if name == "PauseNs" {
			for i, ns := range strings.Fields(strings.Trim(value, "[]")) {
				if i < len(m.PauseNs) {
					m.PauseNs[i], _ = strconv.ParseUint(ns, 10, 64)
				}
			}
		}
	}
	if min(m.HeapAlloc, m.NextGC, m.Sys, m.TotalAlloc, m.Mallocs) == 0 { // not every version has the other fields
		return nil, fmt.Errorf("%w: a heap profile without runtime.MemStats", errNotHere)
	}
	return r, nil
}
