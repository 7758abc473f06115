package stat

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/latency"
)

// Analyze computes everything that reports show about a run from its plan and
// its records so far. It fails only on a record that is not in the plan or has
// damaged histograms.
func Analyze(cells []cell.Cell, recs []*cell.Record) (*Analysis, error) {
	return AnalyzeOn(cell.Machine{}, cells, recs)
}

// AnalyzeOn is Analyze for a run on the machine home, which measured the records that
// have no origin.
func AnalyzeOn(home cell.Machine, cells []cell.Cell, recs []*cell.Record) (*Analysis, error) {
	machines, machineOf := findMachines(home, recs)
	if len(machines) == 1 {
		machineOf = func(*cell.Record) *Machine { return nil }
	}
	groups, twins, err := group(cells, recs, machineOf)
	if err != nil {
		return nil, err
	}
	a := &Analysis{Groups: groups, Machines: machines, Missing: len(cells) - len(recs)}
	for _, base := range groups {
		twin := twins[base.Key]
		if twin == nil {
			continue
		}
		for _, metric := range slices.Sorted(maps.Keys(base.Series)) {
			if len(twin.Series[metric].Values) > 0 {
				a.Floors = append(a.Floors, Compare(base, twin, metric, 1))
			}
		}
	}
	floors := a.floors()
	baselines := make(map[string]*Group)
	for _, g := range groups {
		base := baselines[g.Config.Title()]
		if base == nil {
			baselines[g.Config.Title()] = g
			continue
		}
		for _, metric := range compared(base, g) {
			a.Comparisons = append(a.Comparisons, compare(base, g, metric,
				func(machine string) float64 { return floors.of(g, metric, machine) }))
		}
	}
	a.Warnings = warnings(a, recs)
	a.Findings = findings(a)
	return a, nil
}

// group sorts records into the configurations of the plan, in plan order. Twins
// are returned by the key of their original. machineOf returns nil if all
// records come from one machine.
func group(cells []cell.Cell, recs []*cell.Record,
	machineOf func(*cell.Record) *Machine) (groups []*Group, twins map[string]*Group, err error) {
	ordered := slices.Clone(cells)
	slices.SortStableFunc(ordered, func(a, b cell.Cell) int { return a.Order - b.Order })
	byKey := make(map[string]*Group)
	twins = make(map[string]*Group)
	for _, c := range ordered {
		key := c.Key()
		if byKey[key] != nil {
			continue
		}
		g := &Group{Config: c.Config, Key: key, Series: make(map[string]Series),
			Latency: make(map[string]*latency.Histogram), Buckets: make(map[string]cell.Buckets)}
		byKey[key] = g
		if c.Twin {
			original := c.Config
			original.Twin = false
			twins[original.Key()] = g
		} else {
			groups = append(groups, g)
		}
	}
	sorted := slices.Clone(recs)
	slices.SortStableFunc(sorted, func(a, b *cell.Record) int { return a.Cell.Block - b.Cell.Block })
	histograms, err := decodeAll(sorted)
	if err != nil {
		return nil, nil, err
	}
	for i, rec := range sorted {
		g := byKey[rec.Cell.Key()]
		if g == nil {
			return nil, nil, fmt.Errorf("stat: analyze: cell %d (%s) is not in the plan", rec.Cell.Index, rec.Cell.Key())
		}
		g.add(rec, histograms[i], machineOf(rec))
	}
	return groups, twins, nil
}

// decodeAll decodes the histograms of the finished records on all CPUs.
func decodeAll(recs []*cell.Record) ([]map[string]*latency.Histogram, error) {
	out := make([]map[string]*latency.Histogram, len(recs))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, rec := range recs {
		if rec.Err == nil {
			all.Go(func() (err error) {
				out[i], err = decodeLatency(rec)
				return err
			})
		}
	}
	return out, all.Wait()
}

// add adds a record and its histograms to its group. Records come in block
// order.
func (g *Group) add(rec *cell.Record, histograms map[string]*latency.Histogram, on *Machine) {
	if rec.Err != nil {
		g.Failures = append(g.Failures, rec)
		return
	}
	g.Records = append(g.Records, rec)
	for metric, value := range metrics(rec, histograms) {
		s := g.Series[metric]
		s.Metric = metric
		s.Blocks, s.Values = append(s.Blocks, rec.Cell.Block), append(s.Values, value)
		if on != nil {
			s.Machines = append(s.Machines, on)
		}
		g.Series[metric] = s
	}
	for name, h := range histograms {
		if g.Latency[name] == nil {
			g.Latency[name] = new(latency.Histogram)
		}
		g.Latency[name].Merge(h)
	}
	for name, b := range rec.Buckets {
		g.Buckets[name] = mergeBuckets(g.Buckets[name], b)
	}
}

// floors holds the noise floor by workload, metric and machine, and across
// machines.
type floors map[[3]string]float64

// maxFloor limits a noise floor. If a count is 0 in one of two equal cells and
// not in the other, the floor would be infinite and forbid every verdict.
const maxFloor = 10

// floors collects the noise floors of a run: for each A/A comparison the
// farther end of its interval, and of those the largest of a workload.
func (a *Analysis) floors() floors {
	workload := make(map[string]string, len(a.Groups))
	for _, g := range a.Groups {
		workload[g.Key] = g.Config.Title()
	}
	f := make(floors)
	for _, c := range a.Floors {
		if c.Pairs == 0 {
			continue
		}
		f.raise([3]string{workload[c.A], c.Metric, allMachines}, c)
		for _, m := range c.Machines {
			f.raise([3]string{workload[c.A], c.Metric, m.Machine.key}, m.Comparison)
		}
	}
	return f
}

func (f floors) raise(k [3]string, c Comparison) { f[k] = max(f[k], c.Apart()) }

// Apart returns how much a comparison of equal configurations differs: the farther end of its
// interval, as a factor of 1 to 10.
func (c *Comparison) Apart() float64 { return max(1, min(max(c.Hi, 1/c.Lo), maxFloor)) }

func (f floors) of(g *Group, metric, machine string) float64 {
	return max(1, f[[3]string{g.Config.Title(), metric, machine}])
}

// warnings collects the doubts: first those about the run, then those about
// records, most frequent first.
func warnings(a *Analysis, recs []*cell.Record) []CountedWarning {
	var out []CountedWarning
	if n := a.Missing; n > 0 {
		text := "1 planned cell has no record: the run is incomplete"
		if n > 1 {
			text = fmt.Sprintf("%d planned cells have no record: the run is incomplete", n)
		}
		out = append(out, CountedWarning{cell.Warning{Code: "missing", Text: text}, 0})
	}
	failures := make(map[cell.FailureKind]int)
	doubts := gather{}
	for _, rec := range recs {
		if rec.Err != nil {
			failures[rec.Err.Kind]++
		}
		for _, w := range rec.Warnings {
			doubts.add(w)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(failures)) {
		out = append(out, CountedWarning{cell.Warning{Code: "failed",
			Text: fmt.Sprintf("cells failed (%s): their figures are left out", kind)}, failures[kind]})
	}
	out = append(out, machineWarnings(a)...)
	var noisy []string
	for _, c := range a.Floors {
		if (c.Verdict == Better || c.Verdict == Worse) && slices.Contains(Headline, c.Metric) {
			noisy = append(noisy, fmt.Sprintf("%s of %s (%sx)", c.Metric, c.A, times(c.Ratio)))
		}
	}
	if len(noisy) > 0 {
		out = append(out, CountedWarning{cell.Warning{Code: "a/a",
			Text: "two equal configurations differed in " + strings.Join(noisy, ", ") + ": mistrust smaller effects"}, 0})
	}
	own := doubts.all()
	slices.SortFunc(own, func(a, b CountedWarning) int {
		return cmp.Or(b.Records-a.Records, strings.Compare(a.Code+a.Text, b.Code+b.Text))
	})
	return append(out, own...)
}

// machineWarnings lists where machines disagree.
func machineWarnings(a *Analysis) (out []CountedWarning) {
	var opposed, sizes []string
	for _, c := range a.Comparisons {
		switch h := c.Heterogeneity; {
		case h == nil:
		case h.Opposed:
			opposed = append(opposed, c.Metric+" of "+c.B)
		case h.Differ:
			sizes = append(sizes, c.Metric+" of "+c.B)
		}
	}
	for _, kind := range []struct {
		what []string
		text string
	}{
		{opposed, "the machines disagree about %d of %d comparisons, which therefore have no verdict: %s"},
		{sizes, "the machines agree on the direction but not the size of %d of %d comparisons: %s"},
	} {
		if len(kind.what) > 0 {
			shown := kind.what[:min(len(kind.what), 4)]
			if len(shown) < len(kind.what) {
				shown = append(slices.Clone(shown), "more")
			}
			out = append(out, CountedWarning{cell.Warning{Code: "machines",
				Text: fmt.Sprintf(kind.text, len(kind.what), len(a.Comparisons), strings.Join(shown, ", "))}, 0})
		}
	}
	return out
}
