package tune

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// Outcomes of a pod.
const (
	PodKeeps  = "keeps"  // the objective and wall time, certainly
	PodLoses  = "loses"  // one of them, certainly, or breaks a bound
	PodUnsure = "unsure" // the rounds do not tell
	PodFails  = "fails"  // the program does not run there
)

// A PodTrial is the result of running the program in a control group of one size.
type PodTrial struct {
	// Setting is the configuration that ran: the answer's, or the baseline's if there is none,
	// with a GOMEMLIMIT of at most 90 % of the pod's memory.
	Setting cell.Config `json:"setting"`
	// Cost is the objective as a ratio to the baseline's setting in the largest pod, Wall is wall time: what a
	// quota costs shows in time, seldom in CPU time. PeakBytes is the peak of resident memory, and Throttled the
	// share of periods in which the quota stopped the program: medians, with the least and the greatest.
	Cost      Interval `json:"cost_ratio"`
	Wall      Interval `json:"wall_ratio"`
	PeakBytes Interval `json:"peak_bytes"`
	Throttled Interval `json:"throttled"`
	Rounds    int      `json:"rounds"`
	Outcome   string   `json:"outcome"` // PodKeeps, PodLoses, PodUnsure or PodFails
	Reason    string   `json:"reason"`
}

const (
	podShare     = 0.9 // of a pod's memory, at most, for GOMEMLIMIT
	mostPods     = 6   // rounds
	podTolerance = 0.05
)

// smaller orders pods by CPUs, then memory. A pod without a bound is the largest.
func smaller(a, b cell.Pod) int {
	size := func(v float64) float64 {
		if v == 0 {
			return math.Inf(1)
		}
		return v
	}
	return cmp.Or(cmp.Compare(size(a.CPUs), size(b.CPUs)),
		cmp.Compare(size(float64(a.MemoryBytes)), size(float64(b.MemoryBytes))))
}

// fitted returns a setting with its limit lowered to what the pod has memory for.
func fitted(c cell.Config, pod cell.Pod) cell.Config {
	c.Pod = pod
	if most := int64(podShare*float64(pod.MemoryBytes)) / mib * mib; most > 0 &&
		(c.GC.LimitBytes == 0 || c.GC.LimitBytes > most) {
		c.GC.LimitBytes, c.GC.Name = most, ""
	}
	return c
}

// tryPods runs the answer's setting in every pod, and the baseline's in the largest, for at least
// four rounds and as many more as the budget allows.
func (t *tuning) tryPods(budget float64) error {
	pods := slices.SortedFunc(slices.Values(t.Pods), smaller)
	arms := []cell.Config{fitted(t.Base, pods[len(pods)-1])}
	for _, pod := range pods {
		arms = append(arms, fitted(t.answer.Setting, pod))
	}
	t.block++
	records, failures := make([][]*cell.Record, len(arms)), make([]*cell.Failure, len(arms))
	began := t.spent
	t.planned = t.answer.Runs + mostPods*len(arms)
	rng := rand.New(rand.NewPCG(t.Seed, uint64(t.block)))
	for round := 1; round <= mostPods; round++ {
		for _, i := range rng.Perm(len(arms)) {
			arm := arms[i]
			if failures[0] != nil {
				t.answer.Others = append(t.answer.Others, fmt.Sprintf("no pod is compared: %s does not run in the largest, %s: %v",
					settingText(arms[0]), podName(arms[0].Pod), failures[0]))
				return nil
			}
			if failures[i] != nil {
				continue
			}
			rec, err := t.measure(arm, t.block, fmt.Sprintf("pod %s with %s", arm.Pod, settingText(arm)))
			switch {
			case t.infeasible(rec), rec != nil && rec.Err != nil && rec.Err.Kind == cell.FailWorkload: // such as a late start
				failures[i] = rec.Err
			case err != nil:
				return err
			default:
				rec.Cell.Block = t.block
				records[i] = append(records[i], rec)
			}
		}
		t.block++
		if used := t.spent - began; round >= leastRounds && used+used/float64(round) > budget {
			break
		}
	}
	return t.judgePods(arms, records, failures)
}

// judgePods compares each pod with the first arm. A pod where the program ran is none to recommend if it was killed in
// another of the same memory: then it fits by chance.
func (t *tuning) judgePods(arms []cell.Config, records [][]*cell.Record, failures []*cell.Failure) error {
	results, err := t.compare(arms, records)
	if err != nil {
		return err
	}
	killed := map[int64]bool{}
	for i, f := range failures {
		if f != nil && f.Kind == cell.FailMemory {
			killed[arms[i].Pod.MemoryBytes] = true
		}
	}
	for i := 1; i < len(arms); i++ {
		cost, wall := results[i].by[costMetric], results[i].wall
		p := PodTrial{Setting: arms[i], PeakBytes: results[i].peak, Throttled: throttled(records[i]),
			Rounds: len(records[i])}
		if failures[i] != nil {
			p.Outcome, p.Reason = PodFails, failures[i].Error()
			t.answer.Pods = append(t.answer.Pods, p)
			continue
		}
		p.Cost, p.Wall = RatioOf(cost), RatioOf(wall)
		broken, err := t.broken(records[i])
		switch {
		case err != nil:
			return err
		case broken != "":
			p.Outcome, p.Reason = PodLoses, broken
		case killed[p.Setting.Pod.MemoryBytes]:
			p.Outcome, p.Reason = PodUnsure, "the program was killed in another pod of the same memory"
		default:
			p.Outcome = kept(cost)
			if in := kept(wall); in != PodKeeps && p.Outcome != PodLoses {
				p.Outcome, p.Reason = in, "wall time "+ratioText(p.Wall, 1+podTolerance)
			}
		}
		t.answer.Pods = append(t.answer.Pods, p)
	}
	return nil
}

// kept says whether a cost stays within the tolerance.
func kept(cost stat.Comparison) string {
	switch {
	case cost.Pairs >= leastRounds && cost.Hi <= 1+podTolerance:
		return PodKeeps
	case cost.Pairs >= leastRounds && cost.Lo > 1+podTolerance:
		return PodLoses
	}
	return PodUnsure
}

func throttled(records []*cell.Record) Interval {
	var shares []float64
	for _, rec := range records {
		shares = append(shares, rec.Metrics[cell.PodThrottledShare])
	}
	return spanOf(shares)
}

// SmallestPod returns the smallest pod that keeps the objective and wall time, by
// CPUs, then memory; nil if none does.
func (r *Answer) SmallestPod() *PodTrial {
	for i := range r.Pods {
		if r.Pods[i].Outcome == PodKeeps {
			return &r.Pods[i]
		}
	}
	return nil
}

// podName formats a pod for people.
func podName(p cell.Pod) string {
	var parts []string
	switch {
	case p.CPUs == 1:
		parts = append(parts, "1 CPU")
	case p.CPUs > 0:
		parts = append(parts, fmt.Sprintf("%g CPUs", p.CPUs))
	}
	if p.MemoryBytes > 0 {
		parts = append(parts, cell.FormatBytes(p.MemoryBytes))
	}
	if len(parts) == 0 {
		return "no pod"
	}
	return strings.Join(parts, ", ")
}

// podLine says which pod suffices; "" if none was tried.
func (r *Answer) podLine() string {
	if len(r.Pods) == 0 {
		return ""
	}
	objective, largest := nameOf(r.costName()), podName(r.Pods[len(r.Pods)-1].Setting.Pod)
	also := ""
	if r.costName() != cell.WallTime {
		also = " and wall time"
	}
	p := r.SmallestPod()
	if p == nil {
		keeps := "keeps"
		if slices.ContainsFunc(r.Pods, func(p PodTrial) bool { return p.Outcome == PodUnsure }) {
			keeps = "surely keeps"
		}
		return fmt.Sprintf("no pod %s %s%s within %.0f %% of today's in %s", keeps, objective, also,
			100*podTolerance, largest)
	}
	return fmt.Sprintf("a pod of %s with %s keeps %s (%s of today's in %s, %d rounds)%s", podName(p.Setting.Pod),
		settingText(p.Setting), objective, ratioText(p.Cost, 1+podTolerance), largest, p.Rounds, also)
}

// PodTable returns a row per pod: size, setting, the objective as a ratio, peak memory,
// throttling, the verdict and its reason. It has no rows if no pod was tried.
func (r *Answer) PodTable() (head []string, rows [][]string) {
	head = []string{"pod", "setting", nameOf(r.costName()), "peak memory", "throttled", "verdict", "why"}
	for _, p := range r.Pods {
		cost := ratioText(p.Cost, 1+podTolerance)
		if p.Outcome == PodFails {
			cost = "-"
		}
		rows = append(rows, []string{podName(p.Setting.Pod), settingText(p.Setting), cost, bytesText(p.PeakBytes.Mid),
			fmt.Sprintf("%.0f %% of periods", 100*p.Throttled.Mid), p.Outcome, p.Reason})
	}
	return head, rows
}

// writePods prints the table of pods, and the smallest that suffices.
func (r *Answer) writePods(b *strings.Builder) {
	head, rows := r.PodTable()
	if len(rows) == 0 {
		return
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	why := len(head) - 1 // printed below, where a long reason widens no column
	for _, row := range append([][]string{head}, rows...) {
		fmt.Fprintf(t, "  %s\n", strings.Join(row[:why], "\t"))
	}
	t.Flush()
	for _, row := range rows {
		if row[why] != "" {
			fmt.Fprintf(b, "  %s %s: %s\n", row[0], row[why-1], row[why])
		}
	}
	b.WriteString("smallest  " + r.podLine() + "\n")
}
