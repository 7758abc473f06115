package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// scanned are the programs that are short enough for a scan.
var scanned = []string{"gofmt", "markdown"}

// A scanResult sets the search beside the script of the study, which runs the
// program once at each of 200 values and takes the best.
type scanResult struct {
	Program       corpusProgram
	Scan, Search  int     // GOGC
	ScanSeconds   float64 // of running the program
	SearchSeconds float64
	SearchRuns    int
	// Plateau holds the settings whose time, smoothed over 9 neighbours, is
	// within 2 % of the least one.
	PlateauFrom, PlateauTo int
	// Of fresh runs paired by round: search to scan, search to default, scan to
	// default; and a second copy of the default to the first.
	Time, Gain, ScanGain, Equal, Memory Interval
	Pairs                               int
}

// scanSettings are the values of the study: 100 to 20,000 in steps of 100.
func scanSettings() (out []cell.GC) {
	for percent := 100; percent <= 20_000; percent += 100 {
		out = append(out, setting(percent, 0))
	}
	return out
}

// TestCorpusScan compares a search of at most 10 runs with a scan of 200.
func TestCorpusScan(t *testing.T) {
	programs := slices.DeleteFunc(slices.Clone(corpus), func(p corpusProgram) bool { return !slices.Contains(scanned, p.Name) })
	corpusPrograms(t, programs, func(t *testing.T, dir string, p corpusProgram) {
		c := corpusConfig(t, dir, p)
		c.Fill()
		run := corpusRunner(t, c.Base)
		r := scanResult{Program: p}
		r.scan(t, c.Base, run)
		best := r.search(t, c, run)
		r.compare(t, c, best, run)
		t.Logf("%+v", r)
		if r.SearchRuns > len(scanSettings())/20 {
			t.Errorf("the search took %d runs, the scan %d: want a twentieth at most", r.SearchRuns, len(scanSettings()))
		}
		keepResult(t, dir, "scan-"+p.Name, r)
	})
}

func (r *scanResult) scan(t *testing.T, base cell.Config, run Runner) {
	var walls []float64
	for _, gc := range scanSettings() {
		config := base
		config.GC = gc
		walls = append(walls, wallOf(t, config, 0, run))
		r.ScanSeconds += walls[len(walls)-1]
	}
	settings := scanSettings()
	r.Scan = settings[slices.Index(walls, slices.Min(walls))].Percent
	const side = 4
	var smooth []float64
	for i := range walls {
		smooth = append(smooth, median(walls[max(i-side, 0):min(i+side+1, len(walls))]))
	}
	least := slices.Min(smooth)
	for i, w := range smooth {
		if w <= 1.02*least {
			if r.PlateauFrom == 0 {
				r.PlateauFrom = settings[i].Percent
			}
			r.PlateauTo = settings[i].Percent
		}
	}
}

func wallOf(t *testing.T, config cell.Config, block int, run Runner) float64 {
	t.Helper()
	rec, err := run(config, block)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Err != nil {
		t.Fatal(rec.Err)
	}
	return rec.Metrics[cell.WallTime]
}

func (r *scanResult) search(t *testing.T, c Config, run Runner) cell.Config {
	tuned := newTuning(c, run)
	first, err := tuned.measure(c.Base, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	found, err := tuned.explore(first)
	if err != nil || len(found.picks) == 0 {
		t.Fatal(found.picks, err)
	}
	best := tuned.with(found.picks[0].GC)
	r.Search, r.SearchRuns, r.SearchSeconds = best.GC.Percent, tuned.answer.Runs, tuned.answer.Seconds
	return best
}

// compare runs both answers and two copies of the default in fresh rounds.
func (r *scanResult) compare(t *testing.T, c Config, best cell.Config, run Runner) {
	const rounds = 12
	scan, twin := c.Base, c.Base
	scan.GC, twin.Twin = setting(r.Scan, 0), true
	c.Seed, c.Pairs = rand.Uint64(), rounds
	tuned := newTuning(c, run)
	tuned.block = 1
	arms := []cell.Config{c.Base, scan, best, twin}
	records, err := tuned.rounds(arms, rounds)
	if err != nil {
		t.Fatal(err)
	}
	var groups [4]*stat.Group
	for i := range arms {
		if groups[i], err = tuned.group(arms[i], records[i]); err != nil {
			t.Fatal(err)
		}
	}
	ratio := func(a, b int, metric string) Interval {
		c := stat.Compare(groups[a], groups[b], metric, 1)
		r.Pairs = c.Pairs
		return Interval{c.Ratio, c.Lo, c.Hi}
	}
	r.Time, r.Gain, r.ScanGain, r.Equal = ratio(1, 2, cell.WallTime), ratio(0, 2, cell.WallTime), ratio(0, 1, cell.WallTime), ratio(0, 3, cell.WallTime)
	r.Memory = ratio(1, 2, cell.RSSPeak)
}

// TestScanSummary checks what is read out of a scan, on one without noise.
func TestScanSummary(t *testing.T) {
	var r scanResult
	n := 0
	r.scan(t, cell.Config{}, func(c cell.Config, _ int) (*cell.Record, error) {
		n++
		rec := &cell.Record{}
		rec.Set(cell.WallTime, 1+100/float64(c.GC.Percent)+float64(c.GC.Percent)*1e-5)
		return rec, nil
	})
	// The least is where 100/G = G*1e-5: 3,162; within 2 % of it from 1,500 to 7,000.
	if n != 200 || r.Scan != 3200 || math.Abs(float64(r.PlateauFrom-1500)) > 200 || math.Abs(float64(r.PlateauTo-7000)) > 200 {
		t.Errorf("%d runs, best %d, plateau %d to %d", n, r.Scan, r.PlateauFrom, r.PlateauTo)
	}
}

func (r scanResult) row() string {
	part := func(i Interval) string { return fmt.Sprintf("%.3f [%.3f, %.3f]", i.Mid, i.Lo, i.Hi) }
	return fmt.Sprintf("| %s | %d (%.0f s) | %s (%d runs, %.0f s) | %d to %d | %s | %s | %s | %s | %s |\n", r.Program.Name, r.Scan, r.ScanSeconds, setting(r.Search, 0).GOGC(), r.SearchRuns,
		r.SearchSeconds, r.PlateauFrom, r.PlateauTo, part(r.Time), part(r.Memory), part(r.Gain), part(r.ScanGain), part(r.Equal))
}
