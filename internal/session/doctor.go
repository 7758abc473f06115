package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/text"
)

// A Diagnosis is what 'isobar doctor' finds on this machine.
type Diagnosis struct {
	Machine    cell.Machine `json:"machine"`
	GOMAXPROCS int          `json:"gomaxprocs"`
	Noise      cell.Noise   `json:"noise"` // means over the runs; -1 where unknown
	Runs       int          `json:"runs"`
	Wall       spread       `json:"wall"`
	CPU        spread       `json:"cpu"`
	Findings   []string     `json:"findings,omitempty"`
}

// A spread says how much equal runs differ.
type spread struct {
	Deviation float64 `json:"deviation"` // of one run, relative, by the median absolute deviation
	Drift     float64 `json:"drift"`     // second half of the runs over the first
	// Detectable is, by number of pairs, the smallest ratio that a comparison distinguishes
	// from 1 in 80 % of cases.
	Detectable map[string]float64 `json:"detectable"`
}

// Diagnose runs the same small workload many times. It reports how much the
// runs differ and what makes measurements unreliable here.
func (se *Session) Diagnose(ctx context.Context, runs int) (*Diagnosis, error) {
	unlock, err := se.alone()
	if err != nil {
		return nil, fmt.Errorf("doctor: %w", err)
	}
	defer unlock()
	d := &Diagnosis{Machine: host.Fingerprint(), GOMAXPROCS: runtime.GOMAXPROCS(0), Runs: runs}
	r := runner.New(runner.Config{Log: io.Discard})
	c := cell.Cell{Config: cell.Config{Workload: "alloc", Params: map[string]string{"iterations": "60000"},
		GC: cell.DefaultGC},
		Seed: 1, Timeout: time.Minute, MemoryBytes: runner.DefaultMemoryCap(d.Machine.MemoryBytes)}
	bar := NewProgress(se.Err, runs, 0)
	defer bar.Clear()
	var records []*cell.Record
	for i := range runs {
		c.Index = i
		bar.Begin(c)
		rec, _, err := r.Run(ctx, c)
		if errors.Is(err, context.Canceled) {
			return nil, ErrInterrupted
		}
		if err == nil && rec.Err != nil {
			if err = rec.Err; rec.Err.Kind == cell.FailMemory {
				err = fmt.Errorf("a run takes more than the %d MiB that it may have here: allow this control group more memory, "+
					"or stop other programs", c.MemoryBytes>>20)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("doctor: %w", err)
		}
		records = append(records, &rec)
		bar.End()
	}
	d.measure(records)
	d.examine()
	return d, nil
}

// alone takes the lock that prevents concurrent runs, so that doctor neither mistakes a
// study for noise nor disturbs it. Without a writable store no study can be running.
func (se *Session) alone() (unlock func(), err error) {
	path, err := se.StorePath()
	if err == nil {
		unlock, err = lock(path)
	}
	if errors.Is(err, store.ErrLocked) {
		return nil, err
	}
	if err != nil {
		return func() {}, nil
	}
	return unlock, nil
}

func (d *Diagnosis) measure(records []*cell.Record) {
	var wall, cpu []float64
	var noises []cell.Noise
	for _, r := range records {
		wall, cpu = append(wall, r.Metrics[cell.WallTime]), append(cpu, r.Metrics[cell.TotalCPU])
		noises = append(noises, r.Noise)
	}
	d.Noise = host.MeanNoise(noises)
	d.Wall, d.CPU = newSpread(wall), newSpread(cpu)
}

func newSpread(values []float64) spread {
	middle := stat.Median(values)
	var off []float64
	for _, v := range values {
		off = append(off, math.Abs(v-middle))
	}
	half := len(values) / 2
	s := spread{Deviation: 1.4826 * stat.Median(off) / middle,
		Drift: stat.Median(values[half:]) / stat.Median(values[:half]), Detectable: map[string]float64{}}
	for _, pairs := range []int{6, 10, 20, 50} {
		// A two-sided 5 % test that finds the effect in 80 % of cases, on the median
		// of ratios, whose deviation is 1.25 times that of a mean.
		const z = 1.96 + 0.84
		s.Detectable[fmt.Sprint(pairs)] = math.Exp(z * 1.25 * math.Sqrt2 * s.Deviation / math.Sqrt(float64(pairs)))
	}
	return s
}

// examine lists what makes measurements unreliable here.
func (d *Diagnosis) examine() {
	find := func(format string, args ...any) { d.Findings = append(d.Findings, fmt.Sprintf(format, args...)) }
	for _, w := range d.Machine.Warnings {
		find("%s", w)
	}
	if q := d.Machine.CPUQuota; q > 0 && float64(d.GOMAXPROCS) > math.Ceil(q) {
		find("GOMAXPROCS is %d but the control group allows %.3g CPUs: the collector's bursts are throttled; "+
			"set GOMAXPROCS=%d", d.GOMAXPROCS, q, int(math.Ceil(q)))
	}
	for _, w := range host.Disturbances(d.Noise) {
		find("%s", w.Text)
	}
	if drift := max(d.Wall.Drift, 1/d.Wall.Drift); drift > 1+max(0.03, 2*d.Wall.Deviation) {
		find("the second half of the runs took %.2f times as long as the first: the machine's speed drifts; trust only "+
			"paired comparisons", d.Wall.Drift)
	}
	if d.Wall.Deviation > 0.10 {
		find("equal runs differ by %.0f %%: fewer than 50 pairs cannot detect a difference below %.0f %% here",
			100*d.Wall.Deviation, 100*(d.Wall.Detectable["50"]-1))
	}
}

// Write prints the diagnosis.
func (d *Diagnosis) Write(w io.Writer) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	m := d.Machine
	fmt.Fprintf(t, "machine\t%s, %d CPUs, %s %s, %s\n", m.CPU, m.CPUs, m.OS, m.Arch, m.GoVersion)
	quota, memory := "no quota", "unknown"
	if m.CPUQuota > 0 {
		quota = fmt.Sprintf("a quota of %.3g CPUs", m.CPUQuota)
	}
	if m.MemoryBytes > 0 {
		memory = text.Format(":bytes", float64(m.MemoryBytes))
	}
	fmt.Fprintf(t, "limits\tcontrol group %s, %s, GOMAXPROCS %d, memory %s\n", cmp.Or(m.Cgroup, "none"), quota,
		d.GOMAXPROCS, memory)
	fmt.Fprintf(t, "meanwhile\tsteal %s, CPU pressure %s, memory pressure %s, other processes %s CPUs\n",
		known(100*d.Noise.Steal, " %"), known(100*d.Noise.CPUPressure, " %"), known(100*d.Noise.MemoryPressure, " %"),
		known(d.Noise.OtherCPU, ""))
	for _, s := range []struct {
		name string
		spread
	}{{"wall time", d.Wall}, {"CPU time", d.CPU}} {
		fmt.Fprintf(t, "%s\tequal runs differ by %.1f %% (%d runs, drift %.3f); detectable: %.1f %% in 6 pairs, %.1f %% in "+
			"10, %.1f %% in 20, %.1f %% in 50\n", s.name,
			100*s.Deviation, d.Runs, s.Drift, percentAbove(s.Detectable["6"]), percentAbove(s.Detectable["10"]),
			percentAbove(s.Detectable["20"]), percentAbove(s.Detectable["50"]))
	}
	t.Flush()
	for _, f := range d.Findings {
		fmt.Fprintf(&b, "finding: %s\n", f)
	}
	if len(d.Findings) == 0 {
		b.WriteString("found nothing that makes measurements unreliable here\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func percentAbove(ratio float64) float64 { return 100 * (ratio - 1) }

// known formats a figure, or says "unknown" if it is negative.
func known(v float64, unit string) string {
	if v < 0 {
		return "unknown"
	}
	return text.Digits(v) + unit
}
