package http11_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/http11"
)

// The tenant test: what a handler keeps beyond its return must not affect
// another client's request. Clients send requests made of their own tokens,
// handlers keep everything they received, and late users use it in every way:
// on their own goroutines, in the handlers of other clients, and while the
// handler returns. Nobody else may see a byte, every client gets its response,
// and the process survives. Therefore the workload runs in a child process, one
// for each engine.
//
//	ISOBAR_SOAK=1                   for 30 minutes
//	ISOBAR_TENANT_SECONDS=60        for that long
//	ISOBAR_TENANT_SEED=7            with the seed that a failure has printed
//	ISOBAR_TENANT_MISUSE=none       the control: nothing is kept; or native, or adapted
const (
	childVariable   = "ISOBAR_TENANT_CHILD"
	secondsVariable = "ISOBAR_TENANT_SECONDS"
	seedVariable    = "ISOBAR_TENANT_SEED"
	misuseVariable  = "ISOBAR_TENANT_MISUSE"
)

// stageSeconds is a child's maximum lifetime.
const stageSeconds = 120

func TestTenants(t *testing.T) {
	if text := os.Getenv(childVariable); text != "" {
		var p spec
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		runChild(t, p)
	}
	p := spec{Seed: rand.Uint64(), Seconds: 5 * float64(len(http11.Engines))}
	if testing.Short() {
		p.Seconds /= 2
	}
	if os.Getenv("ISOBAR_SOAK") != "" {
		p.Seconds = 30 * 60
	}
	var err error
	if text := os.Getenv(secondsVariable); text != "" {
		if p.Seconds, err = strconv.ParseFloat(text, 64); err != nil || p.Seconds <= 0 {
			t.Fatalf("%s=%s: want a number of seconds", secondsVariable, text)
		}
	}
	if text := os.Getenv(seedVariable); text != "" {
		if p.Seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s=%s: want a number", seedVariable, text)
		}
	}
	misuse := os.Getenv(misuseVariable)
	p.Native, p.Adapted = misuse == "" || misuse == "native", misuse == "" || misuse == "adapted"
	left := p.Seconds
	for left > 0.1 && !t.Failed() {
		p.Seconds = min(left/float64(len(http11.Engines)), stageSeconds)
		for _, e := range http11.Engines {
			p.Engine = e
			left -= p.Seconds
			t.Run(fmt.Sprintf("%v/seed=%d", e, p.Seed), func(t *testing.T) { tenants(t, p) })
		}
		p.Seed++
	}
}

// tenants runs a child and fails with its findings.
func tenants(t *testing.T, p spec) {
	out := startChild(t, p, nil)
	for _, f := range out.findings {
		t.Errorf("%s, %s, after %.2f s: %s", f.Kind, f.Part, f.At, f.Text)
	}
	if s := out.summary; s != nil {
		t.Logf("%d connections, %d late uses, %d noticed, %d races of native misuse; findings: %v; %d requests answered: %v",
			s.Conns, s.Late, s.Noticed, len(out.ignored), s.Findings, s.Answered, s.Routes)
		for i, race := range out.ignored {
			if i < 3 {
				t.Logf("not counted:\n%s", race)
			}
		}
		idle := s.Routes["/n/echo/"] == 0 || s.Routes["/a/echo/"] == 0
		if !t.Failed() && (idle || (p.Native || p.Adapted) != (s.Late > 0)) {
			t.Error("the child has done too little to judge anything")
		}
	}
}

// The test must find its faults within a minute, and by harm: unnoticed misuse
// is not enough.
func TestTenantsFindFaults(t *testing.T) {
	for _, fault := range []string{http11.FaultKeepAdapted, http11.FaultReuseContexts} {
		for _, e := range http11.Engines {
			t.Run(fmt.Sprintf("%s/%v", fault, e), func(t *testing.T) {
				adapted := fault == http11.FaultKeepAdapted
				p := spec{Engine: e, Seconds: 60, Seed: rand.Uint64(), Fault: fault, Native: !adapted, Adapted: adapted}
				out := startChild(t, p, harmful)
				for _, f := range out.findings {
					if harmful(f) {
						t.Logf("seed %d, after %.2f s: %s, %s: %.300s", p.Seed, f.At, f.Kind, f.Part, f.Text)
						return
					}
				}
				t.Errorf("seed %d: nothing was found: %d findings, %+v", p.Seed, len(out.findings), out.summary)
			})
		}
	}
}

// harmful separates findings of harm from those of unnoticed or unnamed misuse.
func harmful(f finding) bool {
	return f.Kind != "unnoticed" && f.Kind != "unnamed" && f.Kind != "panic"
}

// A told is a child's output.
type told struct {
	findings []finding
	summary  *summary // nil if it did not finish
	ignored  []string // race reports that are not findings
}

// startChild runs a child to its end, or until a finding suffices.
func startChild(t *testing.T, p spec, enough func(finding) bool) *told {
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	races := filepath.Join(t.TempDir(), "race")
	limit := time.Duration(p.Seconds*float64(time.Second)) + 10*patience
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestTenants$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), childVariable+"="+string(text), "GORACE=exitcode=0 log_path="+races)
	var stderr head
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	out := &told{}
	began := time.Now()
	stopped := out.listen(stdout, enough)
	if stopped {
		cmd.Process.Kill() // it may have ended
	}
	err = cmd.Wait()
	if !stopped && out.summary == nil {
		text := fmt.Sprintf("%v: %s", err, stderr.Bytes())
		out.findings = append(out.findings, finding{"death", "process", text, time.Since(began).Seconds()})
	}
	out.takeRaces(races)
	return out
}

// listen reads the child's output. It reports whether a finding sufficed.
func (o *told) listen(r io.Reader, enough func(finding) bool) bool {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), summaryLine); ok {
			s := &summary{}
			if json.Unmarshal([]byte(text), s) == nil {
				o.summary = s
			}
		}
		text, ok := strings.CutPrefix(lines.Text(), findingLine)
		var f finding
		if !ok || json.Unmarshal([]byte(text), &f) != nil {
			continue
		}
		o.findings = append(o.findings, f)
		if enough != nil && enough(f) {
			return true
		}
	}
	return false
}

// takeRaces reads the reports of the race detector. Native misuse may race, as
// only one goroutine at a time may use a Context. All others are findings.
func (o *told) takeRaces(prefix string) {
	files, _ := filepath.Glob(prefix + ".*") // the pattern is good
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for _, report := range strings.Split(string(data), "==================\n") {
			if !strings.Contains(report, "DATA RACE") {
				continue
			}
			accesses, _, _ := strings.Cut(report, "\nGoroutine ")
			if strings.Contains(accesses, "http11_test.use.runNative") {
				o.ignored = append(o.ignored, report)
				continue
			}
			o.findings = append(o.findings, finding{"race", "process", report, 0})
		}
	}
}

// A head keeps the beginning of what is written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	if room := 8<<10 - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
