package gcctl

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
)

const (
	outEnv    = "ISOBAR_BENCH_OUT"    // file that TestTable writes
	blocksEnv = "ISOBAR_BENCH_BLOCKS" // repetitions
)

// baseline is the side that the others are compared with.
const baseline = "off-limit"

// gcShare is the unit of the collector's share of a run's CPU time.
const gcShare = "gc-cpu-%"

// TestTable runs all sides in shuffled blocks and writes what they did, beside
// the memory that they took for it: `make bench-gcctl`.
func TestTable(t *testing.T) {
	out := os.Getenv(outEnv)
	if out == "" {
		t.Skip("writes a file: name it by " + outEnv)
	}
	blocks, err := strconv.Atoi(cmp.Or(os.Getenv(blocksEnv), "3"))
	if err != nil || blocks < 1 {
		t.Fatalf("%s=%q: want a number of blocks, 1 or more", blocksEnv, os.Getenv(blocksEnv))
	}
	phase := cmp.Or(os.Getenv(phaseEnv), "1500ms")
	results := map[string][]map[string]float64{} // side -> figures by block
	for range blocks {
		for _, i := range rand.Perm(len(sides)) {
			s := sides[i]
			rec := s.run(t, map[string]string{"phase": phase})
			f := figures(rec)
			f[gcShare] = 100 * rec.Metrics[cell.GCCPUShare]
			results[s.name] = append(results[s.name], f)
		}
	}
	old, err := os.ReadFile(out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	machine := fmt.Sprintf("%s, %d CPUs", host.Fingerprint().CPU, runtime.GOMAXPROCS(0))
	if err := os.WriteFile(out, page(string(old), machine, table(results, blocks, phase)), 0o644); err != nil {
		t.Fatal(err)
	}
}

const pageHead = `# The GC controller beside other settings

Written by ` + "`make bench-gcctl`" + `, one section per machine. The lab's workload spike has a live heap of 50, 400
and 50 MB under a budget of 600 MB. Figures of the phases are ratios of throughput to off-limit in the same
block: median [least, largest]; above 1 is more. A side whose peak of resident memory exceeds the budget has
failed, whatever its throughput.

| side | what it is |
| --- | --- |
| isobar, isobar-X | our controller in mode Adaptive, and in mode X, with the budget |
| isobar-hybrid, isobar-idle | modes that act on what a program tells them; the spike tells nothing: their watchdog |
| off-limit, gogc100-limit | GOGC=off with GOMEMLIMIT; GOMEMLIMIT alone |
| X-rebuilt | a controller that the module proxy refuses, by its published algorithm and recommended or first settings |

*collection* is the collector's share of all CPU time of a run, the median. The AMD EPYC has no rebuilt sides.

Of the rebuilt sides, Uber's GOGCTuner has no public source. Its article leaves open what it does above 70 % of the
limit; there ours does as cch123/gogctuner, which follows the article. TiDB's pkg/util/gctuner would bring along the
parser, the metrics, and the clients of etcd and TiKV. memlimiter comes without its part that refuses requests, as every
side does all of the work.
`

// page puts the section of a machine in place of an older one in the page.
func page(old, machine, section string) []byte {
	const mark = "\n## "
	sections := []string{machine + "\n\n" + section}
	for _, s := range strings.Split(old, mark)[1:] {
		if !strings.HasPrefix(s, machine+"\n") {
			sections = append(sections, s)
		}
	}
	slices.Sort(sections)
	return []byte(strings.Join(append([]string{pageHead}, sections...), mark))
}

// table renders the results. A ratio is the median over blocks of a side's
// figure over the baseline's in the same block, with the least and the largest.
func table(results map[string][]map[string]float64, blocks int, phase string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Phases of %s in %d shuffled blocks, %s %s/%s.\n\n"+
		"| side | 50 MB | 400 MB | 50 MB again | peak in the first phase, MB | peak, MB | within the budget | collection |\n"+
		"| --- | --- | --- | --- | ---: | ---: | --- | ---: |\n",
		phase, blocks, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, s := range sides {
		fmt.Fprintf(&b, "| %s |", s.name)
		for i := 1; i <= 3; i++ {
			unit := fmt.Sprintf("phase-%d-ops/s", i)
			var ratios []float64
			for block, f := range results[s.name] {
				ratios = append(ratios, f[unit]/results[baseline][block][unit])
			}
			slices.Sort(ratios)
			fmt.Fprintf(&b, " %.2f [%.2f, %.2f] |", ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
		}
		first, peak, within := 0.0, 0.0, "yes"
		var shares []float64
		for _, f := range results[s.name] {
			first, peak = max(first, f["phase-1-peak-MB"]), max(peak, f["peak-MB"])
			shares = append(shares, f[gcShare])
		}
		slices.Sort(shares)
		if peak > budget/1e6 {
			within = "no"
		}
		fmt.Fprintf(&b, " %.0f | %.0f | %s | %.0f %% |\n", first, peak, within, shares[len(shares)/2])
	}
	return b.String()
}

// A table has a row for every side and says which ones exceed the budget.
func TestTableRows(t *testing.T) {
	results := map[string][]map[string]float64{}
	for i, s := range sides {
		f := figures(cell.Record{Metrics: map[string]float64{
			cell.Ops: 1, cell.RSSPeak: 599e6 + 2e6*float64(i%2),
			"phase-1/throughput:ops/s": 10, "phase-2/throughput:ops/s": 20, "phase-3/throughput:ops/s": 30,
		}})
		results[s.name] = append(results[s.name], f)
	}
	got := table(results, 1, "1s")
	if n := strings.Count(got, "1.00 [1.00, 1.00]"); n != 3*len(sides) {
		t.Errorf("%d ratios of 1, want %d:\n%s", n, 3*len(sides), got)
	}
	yes, no := strings.Count(got, "| 599 | yes |"), strings.Count(got, "| 601 | no |")
	if yes != (len(sides)+1)/2 || no != len(sides)/2 {
		t.Errorf("%d sides within the budget and %d beyond it:\n%s", yes, no, got)
	}
}

// The section of this machine is replaced, and that of another one kept.
func TestPageKeepsOtherMachines(t *testing.T) {
	old := page("", "CPU B, 2 CPUs", "b\n")
	old = page(string(old), "CPU A, 2 CPUs", "a\n")
	got := string(page(string(old), "CPU B, 2 CPUs", "new\n"))
	if want := pageHead + "\n## CPU A, 2 CPUs\n\na\n\n## CPU B, 2 CPUs\n\nnew\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
