package heap

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A trial is one leak in one program, and the rank of its holder.
type trial struct {
	Program  string  `json:"program"`
	Leak     string  `json:"leak"`
	Stripped bool    `json:"stripped,omitempty"`
	Rank     int     `json:"rank"` // of the first row that names the holder, from 1; 0 for none
	Live     float64 `json:"live"` // its share of the live heap
	Error    string  `json:"error,omitempty"`
}

// firstLines is the lowest rank at which a holder counts as found.
const firstLines = 3

func (r trial) found() bool { return r.Rank > 0 && r.Rank <= firstLines }

// records is how many objects a program keeps.
const records = 20000

// TestLeaksOfRealPrograms runs the programs that scripts/heap-leaks.sh builds. It keeps the
// results of the first run; later runs write the page beside them.
func TestLeaksOfRealPrograms(t *testing.T) {
	dir := os.Getenv("ISOBAR_LEAKS")
	if dir == "" {
		t.Skip("scripts/heap-leaks.sh runs it")
	}
	var all []trial
	for _, stripped := range []bool{false, true} {
		for _, program := range firstWords(t, "programs.txt") {
			for _, leak := range firstWords(t, "leaks.txt") {
				r := trial{Program: program, Leak: leak, Stripped: stripped}
				kept := filepath.Join(dir, "results", fmt.Sprint(program, "-", leak, "-", stripped))
				if again := readTrials(kept); len(again) == 1 {
					r = again[0]
				} else if err := r.run(t, dir); err != nil {
					r.Error = err.Error()
					t.Errorf("%s %s: %v", program, leak, err)
				}
				writeTrials(t, kept, []trial{r})
				all = append(all, r)
			}
		}
	}
	const first = "testdata/leaks/first.json"
	if _, err := os.Stat(first); os.IsNotExist(err) {
		writeTrials(t, first, all)
	}
	writeLeaks(t, readTrials(first), all)
}

// readTrials returns nil if the file does not exist.
func readTrials(name string) []trial {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	var all []trial
	for line := range strings.Lines(string(data)) {
		var r trial
		if json.Unmarshal([]byte(line), &r) == nil {
			all = append(all, r)
		}
	}
	return all
}

func writeTrials(t *testing.T, name string, all []trial) {
	var b strings.Builder
	for _, r := range all {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func firstWords(t *testing.T, name string) []string {
	data, err := os.ReadFile(filepath.Join("testdata/leaks", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(data)) {
		all = append(all, strings.Fields(line)[0])
	}
	return all
}

// run starts the program, and reads it once it keeps all records.
func (r *trial) run(t *testing.T, dir string) error {
	file := filepath.Join(dir, r.Program)
	if r.Stripped {
		file += "-stripped"
	}
	cmd := exec.Command(file, r.Leak, fmt.Sprint(records))
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	late := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer func() { in.Close(); cmd.Wait(); late.Stop() }()
	lines := bufio.NewScanner(out)
	lines.Scan()
	name, _ := strings.CutPrefix(lines.Text(), "holder ")
	lines.Scan()
	var from, size uint64
	fmt.Sscanf(lines.Text(), "place %d %d", &from, &size)
	if name == "" {
		return fmt.Errorf("it said nothing: %w", lines.Err())
	}
	report, err := Open(t.Context(), fmt.Sprint(cmd.Process.Pid), Config{})
	if err != nil {
		return err
	}
	holders := report.Holders(0.01)
	for i, h := range holders {
		var at uint64
		fmt.Sscanf(h.Path, "global at 0x%x", &at)
		if strings.Contains(h.Path+" "+h.Type+" "+h.Mostly, name) || at >= from && at < from+size {
			r.Rank, r.Live = i+1, h.Live
			break
		}
	}
	if !r.found() {
		t.Logf("%s %s, -s -w %v: %d of %s (place %#x)", r.Program, r.Leak, r.Stripped, r.Rank, name, from)
		for i, h := range holders[:min(len(holders), 8)] {
			t.Logf("  %d %5.1f %% %s  %s, mostly %s", i+1, 100*h.Live, h.Path, h.Type, h.Mostly)
		}
	}
	return nil
}

// writeLeaks writes the results page.
func writeLeaks(t *testing.T, first, now []trial) {
	var b strings.Builder
	b.WriteString(`# Whose leak it is

Written by ` + "`scripts/heap-leaks.sh`" + `. Programs, leaks and what counts as found were committed before the first
run (internal/heap/testdata/leaks). Each leak keeps 20,000 of what its program deals with, under load. The
first figure is the line of ` + "`isobar heap`" + ` that names the holder, the second its share of the live heap. Only
the first run is blind.
`)
	for _, stripped := range []bool{false, true} {
		title := "With symbols"
		if stripped {
			title = "Built with `-s -w`"
		}
		fmt.Fprintf(&b, "\n## %s\n\nFirst run: %s.\nLast run: %s.\n\n| leak |", title,
			among(first, stripped), among(now, stripped))
		programs := firstWords(t, "programs.txt")
		for _, p := range programs {
			fmt.Fprintf(&b, " %s |", p)
		}
		b.WriteString("\n|" + strings.Repeat(" --- |", len(programs)+1))
		for _, leak := range firstWords(t, "leaks.txt") {
			fmt.Fprintf(&b, "\n| %s |", leak)
			for _, r := range now {
				if r.Leak == leak && r.Stripped == stripped {
					fmt.Fprintf(&b, " %s |", r.cell())
				}
			}
		}
		b.WriteString("\n")
	}
	if err := os.WriteFile("../../docs/results/heap-leaks.md", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (r trial) cell() string {
	switch {
	case r.Error != "":
		return "failed"
	case r.Rank == 0:
		return "not listed"
	}
	return fmt.Sprintf("%d, %.0f %%", r.Rank, 100*r.Live)
}

func among(all []trial, stripped bool) string {
	n, sum := 0, 0
	for _, r := range all {
		if r.Stripped == stripped {
			if sum++; r.found() {
				n++
			}
		}
	}
	return fmt.Sprintf("%d of %d holders are among the first %d lines", n, sum, firstLines)
}
