// Modes measures the memory modes of http11 in the shapes that services have,
// and writes which mode is best in each, by what matters there.
//
// Each row is a run of the lab's workload http with the modes as a factor:
// interleaved blocks of fresh processes. Modes are compared in pairs within
// blocks by package stat, against the noise floor of the run. A mode stays a
// candidate unless another one is shown to be better in a metric that counts in
// that row, the first metric first.
//
// Usage: go run ./cmd/modes [-keep DIR] [-row REGEXP] [-reps N] [-out FILE]
//
// With -keep the run of each row is kept as JSON in DIR, and rows that -row does
// not match are taken from there: a table may be measured row by row.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "modes: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("modes", flag.ExitOnError)
	keep := flags.String("keep", "", "directory for the run of each row")
	pattern := flags.String("row", ".", "measure the rows with such names")
	reps := flags.Int("reps", 10, "blocks")
	out := flags.String("out", "", "write the page to this file instead of standard output")
	isobar := flags.String("isobar", "", "the isobar command; built if empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := regexp.Compile(*pattern)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "isobar-modes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *keep == "" {
		*keep = dir
	}
	lab := &lab{isobar: *isobar, dir: dir, keep: *keep, reps: *reps}
	var page bytes.Buffer
	if err := lab.page(&page, chosen); err != nil {
		return err
	}
	if *out == "" {
		_, err := page.WriteTo(os.Stdout)
		return err
	}
	return os.WriteFile(*out, page.Bytes(), 0o644)
}

// A lab runs the isobar command.
type lab struct {
	isobar    string // "" until it is built
	dir, keep string
	reps      int
}

// measure runs a row and keeps its run.
func (l *lab) measure(r row) error {
	if err := l.build(); err != nil {
		return err
	}
	args := append(r.args(l.reps), "--json", "--store", filepath.Join(l.dir, "store.db"), "--out", filepath.Join(l.dir, "report.html"))
	fmt.Fprintf(os.Stderr, "%s: isobar %s\n", r.name, strings.Join(args, " "))
	cmd := exec.Command(l.isobar, args...)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	return os.WriteFile(filepath.Join(l.keep, r.name+".json"), output, 0o644)
}

// read returns the run that was kept of a row.
func (l *lab) read(r row) (*result, error) {
	data, err := os.ReadFile(filepath.Join(l.keep, r.name+".json"))
	if err != nil {
		return nil, fmt.Errorf("%s was not measured: %w", r.name, err)
	}
	return decode(data, r)
}

func (l *lab) build() error {
	if l.isobar != "" {
		return nil
	}
	file := filepath.Join(l.dir, "isobar")
	cmd := exec.Command("go", "build", "-o", file, "./cmd/isobar")
	cmd.Dir = ".." // of module bench
	if msg, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build isobar: %w\n%s", err, msg)
	}
	l.isobar = file
	return nil
}

// args are the arguments of isobar for a row.
func (r row) args(reps int) []string {
	args := append([]string{"lab", "run", r.workload, "--" + r.factor, strings.Join(modes, ",")}, strings.Fields(r.flags)...)
	return append(args, "--reps", strconv.Itoa(reps))
}
