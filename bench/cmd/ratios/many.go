package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/bench/coherence"
)

// modelVariant marks the job from which the page of many CPUs is made.
const modelVariant = ", model"

// A reading is what one block has measured: ns by unit, by package.name-CPUs.
type reading map[string]map[string]float64

// readings returns the blocks of the model's job that a machine has measured last.
func readings(records []record, m Machine) (all []reading, from record, err error) {
	for _, r := range records {
		if r.Job.Variant == modelVariant && r.hardware() == m {
			from = r
		}
	}
	by := map[int]reading{}
	for _, r := range records {
		if r.hardware() != m || r.Commit != from.Commit || r.Job != from.Job || r.Go != from.Go {
			continue
		}
		if by[r.Block] == nil {
			by[r.Block] = reading{}
			all = append(all, by[r.Block])
		}
		if err := by[r.Block].add(r); err != nil {
			return nil, from, err
		}
	}
	return all, from, nil
}

var cpuSuffix = regexp.MustCompile(`-\d+$`)

func (r reading) add(from record) error {
	all, err := from.benchmarks()
	for _, res := range all {
		name := from.Pkg + "." + res.Name.String()
		if !cpuSuffix.MatchString(name) {
			name += "-1"
		}
		r[name] = map[string]float64{}
		for _, v := range res.Values {
			value, unit := v.Value, v.Unit
			if v.OrigUnit != "" {
				value, unit = v.OrigValue, v.OrigUnit
			}
			r[name][unit] = value
		}
	}
	return err
}

// of returns what a benchmark has measured, NaN if nothing.
func (r reading) of(name string, cpus int, unit string) float64 {
	if v, ok := r[name+"-"+strconv.Itoa(cpus)][unit]; ok {
		return v
	}
	return math.NaN()
}

// ns is the time of an operation of a subject.
func (r reading) ns(s coherence.Subject, cpus int) float64 {
	return r.of(s.Name(cpus)+"/impl="+s.Impl, cpus, "ns/op")
}

// costs are what the machine has charged in this block.
func (r reading) costs() coherence.Costs {
	line := func(name string) float64 { return r.of("lines."+name, 2, "ns/op") }
	lock := line("Locked/instruction=add")
	c := coherence.Costs{
		Lock:  lock,
		Move:  line("Move/wait=write"),
		Write: max(0, r.of("lines.Stream/left=cleared", 2, "ns/write")-lock),
		Read:  r.of("lines.Stream/left=cleared", 2, "ns/read"),
		Keep:  min(0.95, lock/line("Shared/work=0")),
		Pause: line("Pause"),
		Yield: line("Yield"),
	}
	if math.IsNaN(c.Pause) { // not measured on this architecture
		c.Pause = c.Yield
	}
	return c
}

// work is what a subject does beside sharing, measured on one CPU; ok if it was.
func (r reading) work(s coherence.Subject, costs coherence.Costs) (work coherence.Work, ok bool) {
	all := r.ns(s, 1)
	push := all / 2
	if s.Backlog != "" {
		backlog := "queue.Backlog/window=8192/impl=" + s.Backlog
		all, push = r.of(backlog, 1, "ns/value"), r.of(backlog, 1, "ns/push")
	}
	if math.IsNaN(all + push) {
		return work, false
	}
	return s.Calibrate(costs, all, push), true
}

// writeMany writes the page of many CPUs: costs, predictions beside what was
// measured, predictions for more, and what more Ps than CPUs cost.
func writeMany(w io.Writer, all []reading, from record) {
	fmt.Fprintf(w, manyHead, from.CPU, from.CPUs, len(all), from.Go, from.Commit)
	writeCosts(w, all)
	writeChecked(w, all, from.CPUs)
	writeAhead(w, all, from.CPUs)
	writeCrowded(w, all, from.CPUs)
}

const manyHead = `# Many CPUs: measured and predicted

By ` + "`make bench-many`" + ` on %s, %d CPUs: %d blocks, %s at commit %s.
A block is left out if a line took ten times as long to move as in the quickest block: the two CPUs that pass it on did
not run at the same time.
The model (bench/coherence; docs/adr/0022 says why) runs each structure's accesses to shared memory on simulated CPUs
with MESI caches. It adds up what this machine charges for them, measured in the same block; work that shares nothing
is calibrated on one CPU. TestLocked holds the model to the instructions that the compiled structures execute. Costs and
calibration are this machine's; the rules of the caches were chosen on two CPUs of an AMD EPYC.

**What the model leaves out:** distances (any two CPUs are as far apart as the two that were measured), goroutines that
sleep (locks spin, so mutexes and channels look better than they are), CPUs that others use, the collector, cache sizes.
Read the rows of locks as lower bounds, and trust single figures only to within the factors of the second table. A
consumer that is faster than its producer disturbs it more than the model says, on every side.

`

func writeCosts(w io.Writer, all []reading) {
	fmt.Fprint(w, `## What the machine charges

| | ns, median | least | most |
| --- | ---: | ---: | ---: |
`)
	for _, row := range []struct {
		what string
		of   func(coherence.Costs) float64
	}{
		{"locked instruction on a line of one's own", func(c coherence.Costs) float64 { return c.Lock }},
		{"line that another CPU has written", func(c coherence.Costs) float64 { return c.Move }},
		{"the same, one line after the other, by writes", func(c coherence.Costs) float64 { return c.Write }},
		{"the same, by reads", func(c coherence.Costs) float64 { return c.Read }},
		{"part of the second that a CPU keeps a line", func(c coherence.Costs) float64 { return c.Keep }},
		{"30 PAUSE instructions", func(c coherence.Costs) float64 { return c.Pause }},
		{"runtime.Gosched", func(c coherence.Costs) float64 { return c.Yield }},
	} {
		var values []float64
		for _, r := range all {
			values = append(values, row.of(r.costs()))
		}
		fmt.Fprintf(w, "| %s | %.3g | %.3g | %.3g |\n", row.what, median(values), slices.Min(values), slices.Max(values))
	}
}

// writeChecked compares each prediction with the measurement of the same block.
func writeChecked(w io.Writer, all []reading, cpus int) {
	fmt.Fprint(w, `
## Predicted beside measured

Elapsed ns per operation; the ratio is the median over blocks, with its range. On one CPU the model is calibrated. Per
operation the model counts locked instructions, lines that a CPU waits for while they move, and lines that move ahead of
their use.

| benchmark | implementation | CPUs | predicted | measured | predicted/measured | locked | moves | ahead |
| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |
`)
	for _, s := range coherence.Subjects {
		for _, n := range procs(cpus) {
			if n == 1 || n > cpus {
				continue
			}
			var predicted, measured, ratios, locked, waited, ahead []float64
			for _, r := range all {
				costs := r.costs()
				work, ok := r.work(s, costs)
				if was := r.ns(s, n); ok && !math.IsNaN(was) {
					is, moves := s.Predict(costs, work, n), s.Moves(costs, work, n)
					predicted, measured, ratios = append(predicted, is), append(measured, was), append(ratios, is/was)
					locked, waited, ahead = append(locked, moves.Locked), append(waited, moves.Waited), append(ahead, moves.Ahead)
				}
			}
			if len(ratios) > 0 {
				fmt.Fprintf(w, "| %s | %s | %d | %.3g | %.3g | %s | %.2f | %.2f | %.2f |\n", s.Name(n), s.Impl, n,
					median(predicted), median(measured), spread(ratios), median(locked), median(waited), median(ahead))
			}
		}
	}
}

// writeAhead predicts what nobody has measured, beside ours.
func writeAhead(w io.Writer, all []reading, cpus int) {
	fmt.Fprintf(w, `
## Predicted for more CPUs

Elapsed ns per operation with the median costs of the %d CPUs above, and if a line takes three times as long to move; in
parentheses the ratio of ours to this peer.

| benchmark | implementation | 1 CPU | 16 | 64 | 16, moves x 3 | 64, moves x 3 |
| --- | --- | ---: | ---: | ---: | ---: | ---: |
`, cpus)
	var list []coherence.Costs
	for _, r := range all {
		list = append(list, r.costs())
	}
	slices.SortFunc(list, func(a, b coherence.Costs) int { return cmp.Compare(a.Move, b.Move) })
	near := list[len(list)/2]
	far := near
	far.Move *= 3
	var ours []float64
	bench := ""
	for _, s := range coherence.Subjects {
		var push, take []float64
		for _, r := range all {
			if work, ok := r.work(s, r.costs()); ok {
				push, take = append(push, work.Push), append(take, work.Take)
			}
		}
		if len(push) == 0 {
			continue
		}
		work := coherence.Work{Push: median(push), Take: median(take)}
		if s.Bench != bench {
			bench, ours = s.Bench, nil
		}
		fmt.Fprintf(w, "| %s | %s | %.3g |", s.Bench, s.Impl, s.Predict(near, work, 1))
		for k, at := range []struct {
			costs coherence.Costs
			cpus  int
		}{{near, 16}, {near, 64}, {far, 16}, {far, 64}} {
			ns := s.Predict(at.costs, work, at.cpus)
			if k == len(ours) {
				ours = append(ours, ns)
				fmt.Fprintf(w, " %.3g |", ns)
			} else {
				fmt.Fprintf(w, " %.3g (%.2g) |", ns, ours[k]/ns)
			}
		}
		fmt.Fprintln(w)
	}
}

// writeCrowded compares four times as many Ps as CPUs with as many.
func writeCrowded(w io.Writer, all []reading, cpus int) {
	fmt.Fprintf(w, `
## More Ps than CPUs

Elapsed ns per operation, measured, with GOMAXPROCS %d beside %d. All sides wait for room and for values by
runtime.Gosched, which takes whole time slices where the kernel shares out the CPUs. TestMorePsThanCPUs of each package
compares it with a channel.

| benchmark | implementation | %[2]d | %[1]d | ratio |
| --- | --- | ---: | ---: | --- |
`, 4*cpus, cpus)
	for _, s := range coherence.Subjects {
		var few, many, ratios []float64
		for _, r := range all {
			if a, b := r.ns(s, cpus), r.ns(s, 4*cpus); !math.IsNaN(b / a) {
				few, many, ratios = append(few, a), append(many, b), append(ratios, b/a)
			}
		}
		if len(ratios) > 0 {
			fmt.Fprintf(w, "| %s | %s | %.3g | %.3g | %s |\n", s.Name(4*cpus), s.Impl, median(few), median(many), spread(ratios))
		}
	}
}

// spread is the median of ratios and their range.
func spread(ratios []float64) string {
	return fmt.Sprintf("%.2f [%.2f, %.2f]", median(ratios), slices.Min(ratios), slices.Max(ratios))
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// publishMany writes the page of many CPUs of a machine, if it was measured.
func publishMany(records []record, m Machine, dir string, stdout io.Writer) error {
	all, from, err := readings(records, m)
	all = slices.DeleteFunc(all, func(r reading) bool {
		c := r.costs()
		return math.IsNaN(c.Move + c.Write + c.Read + c.Keep + c.Yield)
	})
	if err != nil || len(all) == 0 {
		return err
	}
	move := func(r reading) float64 { return r.costs().Move }
	quickest := move(slices.MinFunc(all, func(a, b reading) int { return cmp.Compare(move(a), move(b)) }))
	all = slices.DeleteFunc(all, func(r reading) bool { return move(r) > 10*quickest })
	var b bytes.Buffer
	writeMany(&b, all, from)
	if dir == "" {
		_, err := stdout.Write(b.Bytes())
		return err
	}
	file := strings.Replace(m.page(), "benchmarks-", "many-cpus-", 1)
	return os.WriteFile(filepath.Join(dir, file), b.Bytes(), 0o644)
}
