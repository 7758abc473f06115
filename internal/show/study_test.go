package show_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/text"
)

// A sampleRun is a plan with its records.
type sampleRun struct {
	meta    page.Run
	cells   []cell.Cell
	records []*cell.Record
}

// kinds are the runs that the program can make up.
var kinds = map[string]func() *sampleRun{
	"study":   study,
	"brief":   brief,
	"hostile": hostile,
	"empty":   func() *sampleRun { return &sampleRun{meta: meta("nothing was planned")} },
	"failed":  failed,
	"fleet":   onMachines,
	"tune":    tuned,
}

func kindNames() string { return strings.Join(slices.Sorted(maps.Keys(kinds)), ", ") }

func meta(title string) page.Run {
	return page.Run{Meta: cell.Run{
		ID: 7, Name: title, Created: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC), Args: []string{"lab"},
		Version: "v0.1.0",
		Seed:    20260314,
		Machine: cell.Machine{
			Hostname: "5f1d7a84e2c0", OS: "linux", Arch: "amd64", Kernel: "6.1.0-18-amd64", CPU: "AMD EPYC 7B13", CPUs: 2,
			MemoryBytes: 8324423680, Cgroup: "v2", Virtual: "kvm", HugePages: "madvise", Clocksource: "tsc",
			GoVersion: "go1.26.8", Isobar: "v0.1.0",
			Warnings: []string{"the CPU frequency governor cannot be read: the frequency may have changed during the run"},
		},
	}}
}

// add plans one configuration and its repetitions, and measures them.
func (s *sampleRun) add(c cell.Config, blocks int, m model) {
	for block := range blocks {
		s.addCell(cell.Cell{Config: c, Index: len(s.cells), Block: block, Seed: uint64(block + 1)}, m)
	}
}

func (s *sampleRun) addCell(c cell.Cell, m model) {
	s.cells = append(s.cells, c)
	rng := rand.New(rand.NewPCG(uint64(c.Index)+1, 20260314))
	s.records = append(s.records, m.record(c, rng))
}

var modes = []cell.GC{cell.DefaultGC, cell.TunedGC, cell.DisabledGC}

// collection is the effect of a GC setting on the models: cycles per second, factors for
// heap and time per operation, and the share of CPU time.
var collection = map[string]struct{ cycles, heap, time, share float64 }{
	"default": {90, 1, 1, 0.21}, "tuned": {22, 2.9, 0.88, 0.06}, "disabled": {0, 34, 1.04, 0},
}

const blocks = 10

func study() *sampleRun {
	s := &sampleRun{meta: meta("quick study")}
	for _, gc := range modes {
		k := collection[gc.String()]
		m := model{opNs: 5200 * k.time, opBytes: 10240, opAllocs: 3, tail: 2.2, heap: 24e6 * k.heap, cycles: k.cycles,
			share: k.share}
		s.addTwinned(cell.Config{Workload: "alloc", Params: map[string]string{"iterations": "200_000", "retain": "0.05"},
			GC: gc}, m)
	}
	for _, gc := range modes {
		for _, pool := range []string{"off", "on"} {
			k := collection[gc.String()]
			m := model{opNs: 640, open: 100_000, opBytes: 96, opAllocs: 1, tail: 2.8, heap: 9e6 * k.heap / 2,
				cycles: k.cycles / 8, share: k.share / 4}
			if pool == "on" {
				m.opNs, m.opBytes, m.opAllocs, m.heap, m.cycles = 560, 0, 0, 4e6, m.cycles/40
			}
			params := map[string]string{"duration": "1s", "tickrate": "100_000", "pool": pool}
			s.addTwinned(cell.Config{Workload: "market", Params: params, GC: gc}, m)
		}
	}
	for _, gc := range modes {
		for _, strategy := range strategies {
			k := collection[gc.String()]
			m := model{opNs: strategy.ns, tail: 1.6, heap: 4.2e6, cycles: 2, share: 0.01}
			if strategy.bytes > 0 {
				m.opNs, m.opBytes, m.opAllocs = strategy.ns*k.time, strategy.bytes, 1
				m.heap, m.cycles, m.share = 4.2e6*k.heap, k.cycles*4, k.share
			}
			params := map[string]string{"duration": "500ms", "size": "1024", "strategy": strategy.name}
			s.addTwinned(cell.Config{Workload: "strategies", Params: params, GC: gc}, m)
		}
	}
	return s
}

// brief is a run with everything a page can show, in few records.
func brief() *sampleRun { return briefly(6) }

// briefly is brief with the given number of repetitions, and half as many in
// its second part.
func briefly(blocks int) *sampleRun {
	s := &sampleRun{meta: meta("three strategies and a heat map")}
	for _, gc := range modes {
		k := collection[gc.String()]
		for _, strategy := range strategies[:3] {
			m := model{opNs: strategy.ns * k.time, opBytes: strategy.bytes, tail: 1.6, heap: 4.2e6 * k.heap, cycles: k.cycles,
				share: k.share}
			s.add(cell.Config{Workload: "strategies", Params: map[string]string{"size": "1024", "strategy": strategy.name},
				GC: gc}, blocks, m)
		}
	}
	twin := s.cells[0].Config
	twin.Twin = true
	s.add(twin, blocks, model{opNs: strategies[0].ns, opBytes: 1024, tail: 1.6, heap: 4.2e6, cycles: 90, share: 0.2})
	for _, gc := range modes {
		for i, goroutines := range []string{"1", "2", "4"} {
			k := collection[gc.String()]
			m := model{opNs: 700 * k.time / float64(i+1), opBytes: 512, opAllocs: 2, tail: 2, heap: 2e7 * k.heap,
				cycles: k.cycles, share: k.share}
			s.add(cell.Config{Workload: "scaling", Params: map[string]string{"goroutines": goroutines}, GC: gc}, blocks/2, m)
		}
	}
	return s
}

// onMachines is a brief run measured by a fleet of three machines, one of them
// much slower. Strategy chanpool is faster on two of them and slower on the
// third.
func onMachines() *sampleRun {
	s := briefly(12)
	s.meta.Meta.Name = "three strategies on three machines"
	names := []string{"east-1", "east-2", "west-1"}
	cpus := []string{"AMD EPYC 7B13", "AMD EPYC 7B13", "Intel Xeon Platinum 8481C"}
	for _, rec := range s.records {
		on := rec.Cell.Block % 3
		m := s.meta.Meta.Machine
		m.Hostname, m.CPU, m.CPUs = "9c"+names[on], cpus[on], []int{2, 2, 8}[on]
		rec.Origin = &cell.Origin{Machine: m, Worker: names[on], Attempt: names[on]}
		factor := []float64{1, 1.02, 2.6}[on]
		if on == 2 && rec.Cell.Params["strategy"] == "chanpool" {
			factor *= 4
		}
		for _, metric := range []string{cell.OpTime, cell.OpCPU} {
			if v, ok := rec.Metrics[metric]; ok {
				rec.Set(metric, v*factor)
			}
		}
	}
	return s
}

// strategies are the names of the lab's strategies, with a made-up time and
// allocation per operation.
var strategies = []struct {
	name      string
	ns, bytes float64
}{
	{"plain", 905, 1024}, {"arena", 522, 3}, {"chanpool", 611, 0}, {"slab", 529, 0}, {"syncpool", 515, 0},
	{"syncpool-slice", 561, 24},
}

// addTwinned adds a configuration, and its twin if it is the first of its
// workload.
func (s *sampleRun) addTwinned(c cell.Config, m model) {
	first := !slices.ContainsFunc(s.cells, func(have cell.Cell) bool { return have.Workload == c.Workload })
	s.add(c, blocks, m)
	if first {
		c.Twin = true
		s.add(c, blocks, m)
	}
}

const attack = `<script>document.title="owned"</script><img src=x onerror="document.title='owned'">"'&\` +
	"\x1b[31m\u202e"

// hostile puts dangerous text wherever a user's title, parameter, command or
// message might go, with values that are huge, infinite or not numbers.
func hostile() *sampleRun {
	s := &sampleRun{meta: meta("hostile " + attack)}
	s.meta.Meta.Version, s.meta.Meta.Args = attack, []string{"lab", "run", "exec", "--", attack}
	s.meta.Meta.Machine.CPU = attack
	m := model{opNs: 5e17, tail: 3, heap: 8e17, cycles: 5, share: 0.5}
	for _, gc := range modes {
		s.add(cell.Config{Workload: "exec", Params: map[string]string{attack: strings.Repeat("long", 200) + attack},
			Command: []string{"sh", "-c", attack, gc.String()}, GC: gc}, 2, m)
	}
	s.add(cell.Config{Workload: attack, Params: map[string]string{"strategy": attack}, GC: cell.DefaultGC}, 1, m)
	for i, rec := range s.records {
		rec.Warn(attack, "a warning of %s", attack)
		rec.Set("/own/"+attack+":"+attack, float64(i))
		rec.Stderr = attack
	}
	s.records[0].Set(cell.Throughput, inf)
	s.records[1].Set(cell.GCCPUShare, inf-inf)
	s.records[1].Err = &cell.Failure{Kind: cell.FailExit, Message: attack}
	return s
}

// failed is a run in which no cell finished.
func failed() *sampleRun {
	s := &sampleRun{meta: meta("nothing finished")}
	s.add(cell.Config{Workload: "alloc", GC: cell.DisabledGC}, 3, model{})
	for _, rec := range s.records {
		*rec = cell.Record{Cell: rec.Cell,
			Err: &cell.Failure{Kind: cell.FailMemory, Message: "the cell occupied 2.1 GiB, allowed were 2 GiB"}}
	}
	return s
}

// tuned is what tune shows about a program: eleven settings of which three were
// measured, with two values of GOMAXPROCS, and more points on the curve.
func tuned() *sampleRun {
	s := &sampleRun{meta: meta("tune ./batch")}
	three := func(v float64) [3]float64 { return [3]float64{v, 0.9 * v, 1.1 * v} }
	for i, percent := range []int{10, 15, 25, 35, 50, 75} {
		cpu := 5.2 - 0.45*float64(i)
		s.meta.Search.Forecasts = append(s.meta.Search.Forecasts, plot.Forecast{GC: cell.GC{Percent: percent},
			CPU: three(cpu), Wall: three(cpu / 1.6), Bytes: three(3e7 + 2e6*float64(i)), Best: true})
	}
	s.meta.Procs = &plot.ProcsMap{
		Figures: []plot.MapFigure{{Metric: cell.WallTime}, {Metric: cell.TotalCPU}},
	}
	for i, percent := range []int{100, 150, 200, 300, 400, 600, 800, 1200, 1600, 3200, -1} {
		gc := cell.GC{Percent: percent}
		if percent == 100 {
			gc.Name = cell.DefaultGC.Name
		}
		for _, procs := range []int{0, 1} {
			cpu := 2.4 - 0.08*float64(i)
			f := plot.Forecast{GC: gc, Procs: procs, CPU: three(cpu), Wall: three(cpu / 1.6 * float64(procs+1)),
				Bytes: three(4e7 * float64(i+1)), Best: i < 2}
			s.meta.Procs.Forecasts = append(s.meta.Procs.Forecasts, f)
			if procs == 0 {
				s.meta.Search.Forecasts = append(s.meta.Search.Forecasts, f)
			}
			if procs == 0 && i%4 == 0 || i == 4 {
				at := len(s.records)
				s.add(cell.Config{Workload: "exec", Command: []string{"./batch", "input.csv"}, GC: gc, GOMAXPROCS: procs}, 4,
					model{opNs: 1e6, heap: f.Bytes[0], cycles: 8, share: 0.1, tail: 1})
				for _, rec := range s.records[at:] {
					rec.Set(cell.WallTime, f.Wall[0]*(1+0.01*float64(rec.Cell.Block)))
					rec.Set(cell.TotalCPU, f.CPU[0]*(1+0.01*float64(rec.Cell.Block)))
					rec.Cycles = collections(1000 / (i + 1))
				}
			}
		}
	}
	s.meta.Search.Named = []plot.Named{
		{Name: "today", Setting: "GOGC=100", Key: s.records[0].Cell.Key(), Bytes: 4e7, CPU: 2.4},
		{Name: "fastest", Setting: "GOGC=off GOMEMLIMIT=96MiB, proven", Bytes: 9.8e7, CPU: 1.7},
		{Name: "same memory", Setting: "GOGC=off GOMEMLIMIT=40MiB, not proven", Bytes: 4.2e7, CPU: 2.2},
		{Name: "least memory", Setting: "GOGC=75, proven", Bytes: 3.3e7, CPU: 2.45},
	}
	s.meta.Files = []page.File{
		{Form: "shell", Name: "run.sh", Text: "#!/bin/sh\nexport GOGC=off GOMEMLIMIT=96MiB\nexec \"$@\"\n"},
		{Form: "Kubernetes", Name: "kubernetes.yaml", Text: "spec:\n  template:\n    spec:\n      containers:\n" +
			"        - name: \"batch\"\n          env:\n            - name: GOGC\n              value: \"off\"\n"},
	}
	s.meta.Pods = &text.Table{Label: "Pods", Left: 6,
		Head: []string{"pod", "setting", "wall time", "peak memory", "throttled", "keeps it"}}
	s.meta.Pods.Add("0.5 CPUs, 64MiB", "GOGC=off GOMEMLIMIT=57MiB", "2.10x [2.02, 2.18]", "61 MiB", "84 % of periods",
		"loses")
	s.meta.Pods.Add("1 CPU, 128MiB", "GOGC=off GOMEMLIMIT=96MiB", "1.01x [0.99, 1.03]", "98 MiB", "0 % of periods",
		"keeps")
	for i, limit := range []int64{64, 80, 96, 128, 192, 256, 384, 512} {
		cpu := 2.6 - 0.14*float64(i)
		s.meta.Search.Forecasts = append(s.meta.Search.Forecasts, plot.Forecast{
			GC: cell.GC{Percent: -1, LimitBytes: limit << 20}, CPU: three(cpu), Wall: three(cpu / 1.6),
			Bytes: three(float64(limit << 20)), Best: i > 1})
	}
	return s
}

// collections returns n made-up collections, 4 ms apart.
func collections(n int) []cell.Cycle {
	out := make([]cell.Cycle, n)
	for i := range out {
		out[i] = cell.Cycle{N: uint64(i + 1), Percent: 7, AtNs: int64(i+1) * 4e6, SweepNs: 31e3, MarkNs: 1.4e6,
			TerminationNs: 52e3, CPUNs: 9e5, AssistNs: 1e5, DedicatedNs: 6e5, IdleNs: 2e5,
			StartBytes: 30 << 20, EndBytes: 32 << 20, LiveBytes: 15 << 20, GoalBytes: 32 << 20, StackBytes: 1 << 20, Procs: 2,
			Forced: i%50 == 49}
	}
	return out
}
