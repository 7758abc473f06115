package gcctl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

const (
	budgetEnv  = "ISOBAR_BUDGET_OUT"  // page that TestBudget writes; its samples lie beside this package
	runsEnv    = "ISOBAR_BUDGET_RUNS" // of each way
	busyEnv    = "ISOBAR_BUDGET_BUSY" // busy loops beside each run
	childEnv   = "ISOBAR_BUDGET_CHILD"
	budgetFile = "../budget.jsonl"
)

// A sample is one run of the spike.
type sample struct {
	CPU   string
	CPUs  int
	Busy  int    // busy loops beside it
	Phase string // length of each phase
	Side  string // isobar, or a peer that keeps the budget in the table
	Cell  bool   // under the lab's harness, or else in a program without it
	Peak  float64
	OpsPS [3]float64 // by phase, in cells
}

// TestBudget counts the runs in which Adaptive passes its budget, and compares
// its throughput with the peer that keeps it: `make bench-budget`. Each call
// adds to the samples of those before.
func TestBudget(t *testing.T) {
	out := os.Getenv(budgetEnv)
	if out == "" {
		t.Skip("takes minutes and writes a file: name it by " + budgetEnv)
	}
	number := func(env, otherwise string) int {
		n, err := strconv.Atoi(cmp.Or(os.Getenv(env), otherwise))
		if err != nil || n < 0 {
			t.Fatalf("%s=%q: want a number", env, os.Getenv(env))
		}
		return n
	}
	runs, busy := number(runsEnv, "50"), number(busyEnv, "0")
	file, err := os.OpenFile(budgetFile, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for range busy {
		child(t, "busy", nil)
	}
	isobar := sides[slices.IndexFunc(sides, func(s side) bool { return s.name == "isobar" })]
	peer := sides[slices.IndexFunc(sides, func(s side) bool { return s.name == "automemlimit" })]
	params := map[string]string{"phase": cmp.Or(os.Getenv(phaseEnv), "1s")}
	for i := range runs {
		measured := []sample{
			{Side: isobar.name, Peak: child(t, "spike", isobar.params(params))},
			inCell(figures(isobar.run(t, params)), isobar.name),
		}
		if i%4 == 0 {
			measured = append(measured, inCell(figures(peer.run(t, params)), peer.name))
		}
		for _, s := range measured {
			s.CPU, s.CPUs, s.Busy, s.Phase = host.Fingerprint().CPU, runtime.GOMAXPROCS(0), busy, params["phase"]
			if err := json.NewEncoder(file).Encode(s); err != nil {
				t.Fatal(err)
			}
			if s.Side == isobar.name && s.Peak > budget/1e6 {
				t.Errorf("run %d, in a cell: %v, beside %d busy loops: %.0f MB", i+1, s.Cell, busy, s.Peak)
			}
		}
	}
	if err := writeBudget(out); err != nil {
		t.Fatal(err)
	}
}

func inCell(f map[string]float64, name string) sample {
	s := sample{Side: name, Cell: true, Peak: f["peak-MB"]}
	for i := range s.OpsPS {
		s.OpsPS[i] = f[fmt.Sprintf("phase-%d-ops/s", i+1)]
	}
	return s
}

// child starts this program as what: a busy loop, until the test ends; or a
// spike, whose peak of resident memory in MB it returns.
func child(t *testing.T, what string, params map[string]string) (peak float64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	input, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env, cmd.Stderr = append(os.Environ(), childEnv+"="+what), os.Stderr
	if what == "busy" {
		stdin, err := cmd.StdinPipe() // which closes with this process, however it ends
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stdin.Close(); cmd.Wait() })
		return 0
	}
	cmd.Stdin = bytes.NewReader(input)
	output, err := cmd.Output()
	if err == nil {
		_, err = fmt.Sscan(string(output), &peak)
	}
	if err != nil {
		t.Fatalf("spike: %v: %s", err, output)
	}
	return peak
}

// runChild is what a child does.
func runChild(what string) error {
	if what == "busy" {
		runtime.GOMAXPROCS(1)
		go func() {
			io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
		for {
		}
	}
	var given map[string]string
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		return err
	}
	w, err := workload.Lookup("spike")
	if err != nil {
		return err
	}
	params, err := w.Resolve(given)
	if err != nil {
		return err
	}
	task, err := w.New(workload.Env{Params: params, Seed: 1})
	if err != nil {
		return err
	}
	loop := task.(workload.Closed)
	_, length := loop.Budget()
	var all sync.WaitGroup
	began := time.Now()
	for i := range loop.Workers() {
		all.Go(func() {
			for time.Since(began) < length {
				loop.Loop(i, 8)
			}
		})
	}
	all.Wait()
	peak, ok := host.PeakRSSBytes(os.Getpid())
	if !ok {
		return errors.New("this platform does not tell the peak of resident memory")
	}
	fmt.Println(float64(peak) / 1e6)
	return task.Close()
}

// writeBudget writes the samples to a page; rows of other machines stay there.
func writeBudget(out string) error {
	data, err := os.ReadFile(budgetFile)
	if err != nil {
		return err
	}
	var all []sample
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var s sample
		if err := d.Decode(&s); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		all = append(all, s)
	}
	old, err := os.ReadFile(out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(out, budgetPage(string(old), all), 0o644)
}

// budgetHead is all of the page but its rows.
const budgetHead = `# Does Adaptive keep its budget?

Written by ` + "`make bench-budget`" + `. The lab's workload spike has a live heap of 50, 400 and 50 MB, a phase each,
under a budget of 600 MB of resident memory.

- *busy loops*: processes of the same priority that never sleep. Beside them phases are longer, so that the heap still
  grows to 400 MB.
- *in a*: a cell runs under the lab's harness, a program runs the same loop without it.
- *throughput*: isobar's to automemlimit's, medians, in the three phases.
- *filled*: runs with a peak above 400 MB. Where other work takes the CPU, some do not get that far.

Other work ran beside all rows of the Intel Xeon, so much in the phases of 1 s that few runs filled their heap, and
beside 28 of the AMD EPYC's 50 runs with busy loops.

| machine | busy loops | phase | side | in a | runs | above the budget | median peak, MB | largest | throughput | filled |
| --- | ---: | --- | --- | --- | ---: | ---: | ---: | ---: | --- | ---: |
`

// budgetPage renders samples, below the rows of other machines in an old page.
func budgetPage(old string, all []sample) []byte {
	machine := func(s sample) string { return fmt.Sprintf("%s, %d CPUs", s.CPU, s.CPUs) }
	var b bytes.Buffer
	b.WriteString(budgetHead)
	_, rows, _ := strings.Cut(old, "\n| --- |") // the end of the head, whatever it said before
	_, rows, _ = strings.Cut(rows, "\n")
	for line := range strings.Lines(rows) {
		if !slices.ContainsFunc(all, func(s sample) bool { return strings.HasPrefix(line, "| "+machine(s)+" |") }) {
			b.WriteString(line)
		}
	}
	type kind struct {
		machine, phase, side string
		busy                 int
		cell                 bool
	}
	by := map[kind][]sample{}
	var order []kind
	for _, s := range all {
		k := kind{machine(s), s.Phase, s.Side, s.Busy, s.Cell}
		if by[k] == nil {
			order = append(order, k)
		}
		by[k] = append(by[k], s)
	}
	for _, k := range order {
		var peaks []float64
		above, filled := 0, 0
		for _, s := range by[k] {
			peaks = append(peaks, s.Peak)
			if s.Peak > budget/1e6 {
				above++
			}
			if s.Peak > 400 {
				filled++
			}
		}
		slices.Sort(peaks)
		in, throughput := "program", ""
		if k.cell {
			in = "cell"
		}
		peer := k
		if peer.side = "automemlimit"; k.cell && k != peer && by[peer] != nil {
			var ratios []string
			for i := range 3 {
				ratios = append(ratios, fmt.Sprintf("%.2f", medianOps(by[k], i)/medianOps(by[peer], i)))
			}
			throughput = strings.Join(ratios, ", ")
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %d | %d | %.0f | %.0f | %s | %d |\n", k.machine, k.busy, k.phase, k.side,
			in, len(peaks), above, peaks[len(peaks)/2], peaks[len(peaks)-1], throughput, filled)
	}
	return b.Bytes()
}

func medianOps(of []sample, phase int) float64 {
	var ops []float64
	for _, s := range of {
		ops = append(ops, s.OpsPS[phase])
	}
	slices.Sort(ops)
	return ops[len(ops)/2]
}

// The page counts the runs above the budget and keeps what others measured.
func TestBudgetPage(t *testing.T) {
	const other = "| Other, 2 CPUs | 0 | 1s | isobar | cell | 50 | 1 | 590 | 601 | 1.00, 1.00, 1.00 |\n"
	var all []sample
	for _, peak := range []float64{300, 600, 601, 700} {
		s := sample{CPU: "This", CPUs: 2, Phase: "1s", Side: "isobar", Peak: peak}
		c := s
		c.Cell, c.OpsPS, c.Busy = true, [3]float64{10, 20, 30}, 2
		p := c
		p.Side, p.OpsPS = "automemlimit", [3]float64{20, 20, 20}
		all = append(all, s, c, p)
	}
	want := budgetHead + other +
		"| This, 2 CPUs | 0 | 1s | isobar | program | 4 | 2 | 601 | 700 |  | 3 |\n" +
		"| This, 2 CPUs | 2 | 1s | isobar | cell | 4 | 2 | 601 | 700 | 0.50, 1.00, 1.50 | 3 |\n" +
		"| This, 2 CPUs | 2 | 1s | automemlimit | cell | 4 | 2 | 601 | 700 |  | 3 |\n"
	for _, old := range []string{budgetHead + other, want, "# An older head\n" + budgetHead[strings.Index(budgetHead, "\n| machine"):] + other} {
		if got := string(budgetPage(old, all)); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	}
}

// A child runs the spike for a moment.
func TestSpikeChild(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the peak of resident memory is not told here")
	}
	child(t, "busy", nil)
	params := map[string]string{"low": "4MB", "high": "16MB", "phase": "100ms", "controller": "adaptive", "limit": "100MB"}
	if peak := child(t, "spike", params); peak < 16 || peak > 100 {
		t.Errorf("a peak of %.1f MB of a live heap of 16 MB in a budget of 100 MB", peak)
	}
}
