package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/tune"
)

// buildOptions say what to build: a program, or the tests of a package and
// which of its benchmarks to run.
type buildOptions struct {
	main, bench, run, time string
}

func (o buildOptions) pkg() string {
	if o.main != "" {
		return o.main
	}
	return o.bench
}

// A built program and how to run it.
type built struct {
	dir      string // of the binaries: the same for the same package, so that runs can be resumed
	options  buildOptions
	args     []string
	command  []string
	variants map[string][]string // commands of other builds, by name
	from     *tune.Built         // nil if nothing was built
}

func (b *built) remove() { os.RemoveAll(b.dir) }

// prepare builds the program. For benchmarks it chooses a fixed number of
// iterations, so that every run does the same work, and moves to the package's
// directory, as go test does.
func (a *app) prepare(ctx context.Context, o *tuneOptions, args []string) (built, error) {
	path, err := a.StorePath()
	if err != nil {
		return built{}, err
	}
	if a.Store, err = filepath.Abs(path); err != nil { // the directory may change below
		return built{}, err
	}
	pkg := o.build.pkg()
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}} {{.Name}}", pkg).Output()
	if err != nil {
		return built{}, fmt.Errorf("tune: go list %s: %w: name one package that builds here", pkg, withStderr(err))
	}
	where := strings.TrimSpace(string(out))
	if strings.Contains(where, "\n") {
		return built{}, usage(fmt.Errorf("tune: %s: that is several packages: name one", pkg))
	}
	dir, name := where[:strings.LastIndexByte(where, ' ')], where[strings.LastIndexByte(where, ' ')+1:]
	if o.build.main != "" && name != "main" {
		return built{}, usage(fmt.Errorf("tune: --build %s: package %s is no program: name a main package, or --bench", pkg,
			name))
	}
	if o.resume && o.build.bench != "" && o.build.time == "" {
		o.build.time = storedTime(a.Store)
	}
	h := fnv.New64a()
	fmt.Fprint(h, dir, o.build.bench != "")
	b := built{dir: filepath.Join(filepath.Dir(a.Store), "built", fmt.Sprintf("%x", h.Sum64())), options: o.build,
		args: args, variants: map[string][]string{}}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return built{}, fmt.Errorf("tune: %w", err)
	}
	if err := b.build(ctx, dir, o.builds()); err != nil {
		b.remove()
		return built{}, err
	}
	return b, nil
}

// builds lists what to build beside the program as the go command builds it.
func (o *tuneOptions) builds() []cell.Build {
	if o.variants != nil {
		return o.variants
	}
	var all []cell.Build
	for _, collector := range append([]string{""}, o.collectors...) {
		for _, version := range append([]string{""}, o.versions...) {
			all = append(all, cell.Build{Collector: collector, Go: version})
		}
	}
	return all[1:]
}

// build compiles each variant. Only a benchmark changes the directory: a
// program runs where the user stands, as one that is built by hand.
func (b *built) build(ctx context.Context, dir string, variants []cell.Build) error {
	pkg := b.options.pkg()
	binary, err := b.compile(ctx, pkg, cell.Build{})
	if err != nil {
		return err
	}
	if b.options.bench != "" {
		if err := os.Chdir(dir); err != nil {
			return err
		}
		pkg = "."
		if err := b.fixTime(ctx, binary); err != nil {
			return err
		}
		b.args = []string{"-test.run=^$", "-test.bench=" + b.options.run, "-test.benchtime=" + b.options.time}
	}
	b.command = append([]string{binary}, b.args...)
	for _, variant := range variants {
		binary, err := b.compile(ctx, pkg, variant)
		if err != nil {
			return err
		}
		b.variants[variant.String()] = append([]string{binary}, b.args...)
	}
	b.from = &tune.Built{Package: dir, Args: b.args}
	if b.options.bench != "" {
		b.from = &tune.Built{Package: dir, Bench: b.options.run, Time: b.options.time}
	}
	return nil
}

// fixTime chooses the number of iterations where none is given.
func (b *built) fixTime(ctx context.Context, binary string) (err error) {
	if b.options.time == "" {
		b.options.time, err = iterations(ctx, binary, b.options.run)
		return err
	}
	if !regexp.MustCompile(`^[1-9][0-9]*x$`).MatchString(b.options.time) {
		return usage(fmt.Errorf("tune: --benchtime %q: want a number of iterations such as 1000x: by time, a faster "+
			"setting would do more work", b.options.time))
	}
	return nil
}

// storedTime is the number of iterations that the latest run was made with, ""
// if it was of no benchmark: resuming must do the same work.
func storedTime(path string) string {
	s, err := store.OpenReadOnly(path)
	if err != nil {
		return ""
	}
	defer s.Close()
	run, err := s.Last()
	if err != nil {
		return ""
	}
	cells, err := s.Cells(run.ID)
	if err != nil || len(cells) == 0 {
		return ""
	}
	for _, arg := range cells[0].Command {
		if n, ok := strings.CutPrefix(arg, "-test.benchtime="); ok {
			return n
		}
	}
	return ""
}

func (b *built) compile(ctx context.Context, pkg string, variant cell.Build) (string, error) {
	binary := filepath.Join(b.dir, variant.String(), "program")
	args := []string{"build", "-o", binary, pkg}
	if b.options.bench != "" {
		binary = filepath.Join(b.dir, variant.String(), "bench.test")
		args = []string{"test", "-c", "-o", binary, pkg}
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = runner.Toolchain(os.Environ(), variant)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("tune: go %s %s: %w: %s", args[0], pkg, err, strings.TrimSpace(string(out)))
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
	lines := slices.DeleteFunc(strings.Split(string(exit.Stderr), "\n"),
		func(s string) bool { return strings.TrimSpace(s) == "" })
	if len(lines) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, lines[len(lines)-1])
}
