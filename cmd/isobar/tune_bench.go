package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// benchOptions say which benchmarks to tune.
type benchOptions struct {
	pkg, run, time string
	variants       map[string][]string // commands of other builds, by collector
}

// preparedBench is a compiled test binary and how to run it.
type preparedBench struct {
	dir      string
	command  []string
	variants map[string][]string
}

func (p *preparedBench) remove() { os.RemoveAll(p.dir) }

// prepareBench compiles the tests of the package, chooses a fixed number of
// iterations so that every run does the same work, and moves to the package's
// directory, as go test does.
func (a *app) prepareBench(ctx context.Context, o *tuneOptions) (*preparedBench, error) {
	path, err := a.storePath()
	if err != nil {
		return nil, err
	}
	if a.store, err = filepath.Abs(path); err != nil { // the directory changes below
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", o.bench.pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("tune: go list %s: %w: name one package that builds here", o.bench.pkg, withStderr(err))
	}
	dir := strings.TrimSpace(string(out))
	if strings.Contains(dir, "\n") {
		return nil, usage(fmt.Errorf("tune: --bench %s: that is several packages: name one", o.bench.pkg))
	}
	p := &preparedBench{variants: map[string][]string{}}
	if p.dir, err = os.MkdirTemp("", "isobar-bench-"); err != nil {
		return nil, err
	}
	if err := p.build(ctx, o, dir); err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *preparedBench) build(ctx context.Context, o *tuneOptions, dir string) error {
	binary, err := p.compile(ctx, o.bench.pkg, "")
	if err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	n := o.bench.time
	if n == "" {
		if n, err = iterations(ctx, binary, o.bench.run); err != nil {
			return err
		}
	} else if !regexp.MustCompile(`^[1-9][0-9]*x$`).MatchString(n) {
		return usage(fmt.Errorf("tune: --benchtime %q: want a number of iterations such as 1000x: by time, a faster setting would do more work", n))
	}
	args := func(binary string) []string {
		return []string{binary, "-test.run=^$", "-test.bench=" + o.bench.run, "-test.benchtime=" + n}
	}
	p.command = args(binary)
	for _, collector := range o.collectors {
		binary, err := p.compile(ctx, ".", collector)
		if err != nil {
			return err
		}
		p.variants[collector] = args(binary)
	}
	return nil
}

func (p *preparedBench) compile(ctx context.Context, pkg, collector string) (string, error) {
	binary := filepath.Join(p.dir, "bench"+collector+".test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, pkg)
	if collector != "" {
		experiment := map[string]string{"greentea": "greenteagc", "classic": "nogreenteagc"}[collector]
		cmd.Env = append(os.Environ(), "GOEXPERIMENT="+experiment)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("tune: go test -c %s: %w: %s", pkg, err, strings.TrimSpace(string(out)))
	}
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("tune: package %s has no tests: name one with benchmarks", pkg)
	}
	return binary, nil
}

var benchLine = regexp.MustCompile(`(?m)^Benchmark\S+\s+([0-9]+)\s+([0-9.e+]+) ns/op`)

// iterations is how often the benchmarks must run to take about 2 s together.
func iterations(ctx context.Context, binary, run string) (string, error) {
	const seconds = 2
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, "-test.run=^$", "-test.bench="+run, "-test.benchtime=200ms")
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(output.String())
		return "", fmt.Errorf("tune: the benchmarks fail: %w: %s", err, text[max(len(text)-300, 0):])
	}
	var each float64 // ns that one iteration of all benchmarks takes
	for _, m := range benchLine.FindAllStringSubmatch(output.String(), -1) {
		v, err := strconv.ParseFloat(m[2], 64)
		if err == nil {
			each += v
		}
	}
	if each == 0 {
		return "", fmt.Errorf("tune: no benchmark matches --run %s", run)
	}
	return strconv.Itoa(max(int(seconds*1e9/each), 1)) + "x", nil
}

// withStderr adds the last line that a command wrote before it failed.
func withStderr(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	lines := slices.DeleteFunc(strings.Split(string(exit.Stderr), "\n"), func(s string) bool { return strings.TrimSpace(s) == "" })
	if len(lines) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, lines[len(lines)-1])
}
