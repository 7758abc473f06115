package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/isobar-go/isobar/internal/lab/host"
)

// A unit is what is measured at once: one block of a package under a job.
type unit struct {
	Commit, Pkg string
	Job         job
	Block       int
	Machine
}

// A Machine is what results are compared on.
type Machine struct {
	CPU  string
	CPUs int
	Go   string // version, system and architecture
}

// A record is a unit and what came of it: a line of a results file.
type record struct {
	unit
	Seconds float64
	Output  string // of the benchmarks
}

// benchmarks parses the output.
func (r *record) benchmarks() (all []*benchfmt.Result, err error) {
	reader := benchfmt.NewReader(strings.NewReader(r.Output), r.Pkg)
	for reader.Scan() {
		if res, ok := reader.Result().(*benchfmt.Result); ok {
			all = append(all, res.Clone())
		}
	}
	return all, reader.Err()
}

var errInterrupted = errors.New("interrupted: the same command continues")

// readRecords reads a results file. A last line that is cut short, by a crash,
// is left out.
func readRecords(name string) ([]record, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []record
	for d := json.NewDecoder(f); ; {
		var r record
		switch err := d.Decode(&r); {
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: record %d: %w", name, len(all)+1, err)
		}
		all = append(all, r)
	}
}

// A measurement runs the units of jobs that its results file lacks.
type measurement struct {
	jobs        []job
	deadline    time.Time                           // zero for none
	interrupted context.Context                     // ends at a signal
	build       func(job, string) ([]binary, error) // job.build, but in tests
	execute     func(job, binary) ([]byte, error)   // job.run, but in tests

	commit  string
	machine Machine
	all     []record // of the file and since
	done    map[unit]bool
	file    *os.File       // nil for none
	left    int            // units not measured for want of time
	failed  map[unit]error // by what the blocks of a package have in common
}

// open reads and continues a results file; an empty name is none.
func (m *measurement) open(name string) error {
	machine := host.Fingerprint()
	m.machine = Machine{machine.CPU, machine.CPUs, runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH}
	m.done, m.failed = map[unit]bool{}, map[unit]error{}
	var err error
	if m.commit, err = commit(); err != nil || name == "" {
		return err
	}
	if m.all, err = readRecords(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var whole strings.Builder
	for _, r := range m.all {
		m.done[r.unit] = true
		if err := json.NewEncoder(&whole).Encode(r); err != nil {
			return err
		}
	}
	if err := os.WriteFile(name, []byte(whole.String()), 0o644); err != nil { // without a line cut short
		return err
	}
	m.file, err = os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o644)
	return err
}

// commit names the code: the last commit that changed anything but pages, and a
// digest of what is not committed.
func commit() (string, error) {
	code := []string{":(top)", ":(top,exclude)docs", ":(top,exclude,glob)**/*.md"}
	last, err := exec.Command("git", append([]string{"log", "-1", "--format=%h", "--"}, code...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git log: %w", err)
	}
	diff, err := exec.Command("git", append([]string{"diff", "HEAD", "--"}, code...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git diff: %w", err)
	}
	name := strings.TrimSpace(string(last))
	if len(diff) > 0 {
		name += fmt.Sprintf("+%x", sha256.Sum256(diff))[:8]
	}
	return name, nil
}

// run measures block by block: the first of every job, then the second, so that
// every job has about as many when time runs out. A package that fails is left
// out from then on.
func (m *measurement) run() error {
	defer m.file.Close() // of nil: an error that nobody needs
	dir, err := os.MkdirTemp("", "isobar-ratios-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	most := 0
	binaries := make([][]binary, len(m.jobs))
	for i, j := range m.jobs {
		if binaries[i], err = m.build(j, dir); err != nil {
			return err
		}
		most = max(most, j.Blocks)
	}
	for block := range most {
		for i, j := range m.jobs {
			if block >= j.Blocks {
				continue
			}
			order := rand.New(rand.NewPCG(1, uint64(block))).Perm(len(binaries[i]))
			for _, k := range order {
				if err := m.one(j, binaries[i][k], block); err != nil {
					return err
				}
			}
		}
	}
	if m.left > 0 {
		fmt.Fprintf(os.Stderr, "ratios: no time for %d blocks of packages: the same command continues\n", m.left)
	}
	return errors.Join(slices.Collect(maps.Values(m.failed))...)
}

// one measures a unit, unless it is there or would end late.
func (m *measurement) one(j job, b binary, block int) error {
	u := unit{Commit: m.commit, Job: j, Pkg: b.pkg, Block: block, Machine: m.machine}
	if m.done[u] || m.failed[u.allBlocks()] != nil {
		return nil
	}
	if m.interrupted.Err() != nil {
		return errInterrupted
	}
	began := time.Now()
	if !m.deadline.IsZero() && began.Add(m.expected(u)).After(m.deadline) {
		m.left++
		return nil
	}
	fmt.Fprintf(os.Stderr, "block %d/%d %s%s\n", block+1, j.Blocks, b.pkg, j.Variant)
	output, err := m.execute(j, b)
	if err == nil && !bytes.Contains(output, []byte("ns/op")) {
		err = fmt.Errorf("./%s%s: no benchmark ran: -bench matches none, or each skips itself; go test -v -bench says why",
			b.pkg, j.Variant)
	}
	if err != nil {
		if m.interrupted.Err() != nil { // its child had the signal too
			return errInterrupted
		}
		m.failed[u.allBlocks()] = err
		return nil
	}
	r := record{unit: u, Seconds: time.Since(began).Seconds(), Output: string(output)}
	m.done[u] = true
	m.all = append(m.all, r)
	if m.file == nil {
		return nil
	}
	return json.NewEncoder(m.file).Encode(r)
}

// expected is how long a unit took before.
func (m *measurement) expected(u unit) time.Duration {
	for i := len(m.all) - 1; i >= 0; i-- {
		if r := m.all[i]; r.Job == u.Job && r.Pkg == u.Pkg {
			return time.Duration(r.Seconds * float64(time.Second))
		}
	}
	return 0
}
