package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/tune"
)

// A Program is what to build: the program of package Main, or the benchmarks of
// package Bench that match Run. Time is the number of iterations, as in
// -benchtime.
type Program struct {
	Main, Bench, Run, Time string
}

func (o Program) pkg() string {
	if o.Main != "" {
		return o.Main
	}
	return o.Bench
}

// A Built is a program and how to run it.
type Built struct {
	dir      string // of the binaries; the same for the same package, so that runs can be resumed
	options  Program
	args     []string
	unlock   func()
	Command  []string
	Variants map[string][]string // commands of other builds, by name
	From     *tune.Built         // nil if nothing was built
}

// Remove removes the binaries.
func (b *Built) Remove() {
	os.RemoveAll(b.dir)
	b.unlock()
}

// Prepare builds the program. For benchmarks it chooses a fixed number of
// iterations, so that every run does the same work, and moves to the package's
// directory, as go test does.
func (se *Session) Prepare(
	ctx context.Context, p Program, resume bool, variants []cell.Build, args []string,
) (*Built, error) {
	pkg := p.pkg()
	dir, name, err := onePackage(ctx, pkg)
	if err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	if p.Main != "" && name != "main" {
		return nil, Misused(fmt.Errorf("tune: --build %s: package %s is not a program: give a main package, or --bench", pkg,
			name))
	}
	b := &Built{options: p, args: args, Variants: map[string][]string{}}
	if b.dir, err = se.builtDir(fmt.Sprint(dir, p.Bench != "")); err != nil {
		return nil, err
	}
	if resume && p.Bench != "" && p.Time == "" {
		b.options.Time = storedTime(se.Store)
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	// The lock keeps other processes that tune the package from replacing and removing these binaries.
	if b.unlock, err = lock(b.dir); err != nil {
		return nil, fmt.Errorf("tune: %s: %w", pkg, err)
	}
	if err := b.build(ctx, dir, variants); err != nil {
		b.Remove()
		return nil, err
	}
	return b, nil
}

// build compiles each variant. It changes the directory only for a benchmark; a program
// runs in the user's directory, as if built by hand.
func (b *Built) build(ctx context.Context, dir string, variants []cell.Build) error {
	pkg := b.options.pkg()
	binary, err := b.compile(ctx, pkg, cell.Build{})
	if err != nil {
		return err
	}
	if b.options.Bench != "" {
		if err := os.Chdir(dir); err != nil {
			return err
		}
		pkg = "."
		if err := b.fixTime(ctx, binary); err != nil {
			return err
		}
		b.args = []string{"-test.run=^$", "-test.bench=" + b.options.Run, "-test.benchtime=" + b.options.Time}
	}
	b.Command = append([]string{binary}, b.args...)
	for _, variant := range variants {
		binary, err := b.compile(ctx, pkg, variant)
		if err != nil {
			return err
		}
		b.Variants[variant.String()] = append([]string{binary}, b.args...)
	}
	b.From = &tune.Built{Package: dir, Args: b.args}
	if b.options.Bench != "" {
		b.From = &tune.Built{Package: dir, Bench: b.options.Run, Time: b.options.Time}
	}
	return nil
}

// fixTime chooses the number of iterations if none is given.
func (b *Built) fixTime(ctx context.Context, binary string) (err error) {
	if b.options.Time == "" {
		b.options.Time, err = iterations(ctx, binary, b.options.Run)
		return err
	}
	if !regexp.MustCompile(`^[1-9][0-9]*x$`).MatchString(b.options.Time) {
		return Misused(fmt.Errorf("tune: --benchtime %q: want a number of iterations such as 1000x: with a time, "+
			"a faster setting would do more work", b.options.Time))
	}
	return nil
}

// storedTime returns the number of iterations in the latest run, "" if that ran no
// benchmark. A resumed run must do the same work.
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

// binary is the path of a build for a system.
func (b *Built) binary(variant cell.Build, goos string) string {
	program := "program"
	if b.options.Bench != "" {
		program = "bench.test"
	}
	return filepath.Join(b.dir, variant.String(), runner.Binary(program, goos))
}

func (b *Built) compile(ctx context.Context, pkg string, variant cell.Build) (string, error) {
	binary, args := b.binary(variant, runtime.GOOS), []string{"build"}
	if b.options.Bench != "" {
		args = []string{"test", "-c"}
	}
	args = append(args, "-o", binary, pkg)
	if err := goCommand(ctx, "", runner.Toolchain(os.Environ(), variant), args...); err != nil {
		return "", fmt.Errorf("tune: go %s %s: %w", args[0], pkg, err)
	}
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("tune: package %s has no tests: name a package with benchmarks", pkg)
	}
	return binary, nil
}

var benchLine = regexp.MustCompile(`(?m)^Benchmark\S+\s+([0-9]+)\s+([0-9.e+]+) ns/op`)

// iterations returns the count with which the benchmarks take about 2 s together.
func iterations(ctx context.Context, binary, run string) (string, error) {
	const seconds = 2
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, "-test.run=^$", "-test.bench="+run, "-test.benchtime=200ms")
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(output.String())
		return "", fmt.Errorf("tune: the benchmarks fail: %w: %s", err, text[max(len(text)-300, 0):])
	}
	var each float64 // ns for one iteration of all benchmarks
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

// builtDir returns the directory for binaries, beside the store: the same for the same key,
// so that runs can be resumed. It makes the store's path absolute, because the working
// directory may change afterwards.
func (se *Session) builtDir(key string) (string, error) {
	path, err := se.StorePath()
	if err != nil {
		return "", err
	}
	if se.Store, err = filepath.Abs(path); err != nil {
		return "", err
	}
	h := fnv.New64a()
	io.WriteString(h, key)
	return filepath.Join(beside(se.Store, "built"), fmt.Sprintf("%x", h.Sum64())), nil
}

// goCommand runs the go command in a directory; the error contains its output.
func goCommand(ctx context.Context, dir string, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return err
}

// withStderr adds the last line of a failed command's standard error.
func withStderr(err error) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	said := strings.TrimSpace(string(exit.Stderr))
	return fmt.Errorf("%w: %s", err, said[strings.LastIndexByte(said, '\n')+1:])
}

// onePackage returns the directory and the name of a package.
func onePackage(ctx context.Context, pkg string) (dir, name string, err error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}} {{.Name}}", pkg).Output()
	if err != nil {
		return "", "", fmt.Errorf("go list %s: %w: name a package that builds here", pkg, withStderr(err))
	}
	where := strings.TrimSpace(string(out))
	if strings.Contains(where, "\n") {
		return "", "", Misused(fmt.Errorf("%s: that matches several packages: name one", pkg))
	}
	i := strings.LastIndexByte(where, ' ')
	return where[:i], where[i+1:], nil
}

// BuildProgram builds the program of a package once for each build in the
// study. It returns the command with cell.BuildDir as a placeholder for the
// build. The binaries stay beside the store, so that the run can be resumed.
func (se *Session) BuildProgram(ctx context.Context, pkg string, study plan.Study, args []string) ([]string, error) {
	dir, name, err := onePackage(ctx, pkg)
	if wrong := new(Misuse); errors.As(err, &wrong) || err == nil && name != "main" {
		return nil, Misused(fmt.Errorf("lab run: --build %s: name one main package", pkg))
	}
	if err != nil {
		return nil, fmt.Errorf("lab run: %w", err)
	}
	root, err := se.builtDir(dir + " " + name)
	if err != nil {
		return nil, err
	}
	configs, err := study.Configs()
	if err != nil {
		return nil, Misused(err)
	}
	file := runner.Binary("program", runtime.GOOS)
	done := map[cell.Build]bool{}
	for _, c := range configs {
		if done[c.Build()] {
			continue
		}
		done[c.Build()] = true
		fmt.Fprintf(se.Err, "isobar: building %s (%s)\n", pkg, c.Build())
		if err := goCommand(ctx, "", runner.Toolchain(os.Environ(), c.Build()), "build", "-o",
			filepath.Join(root, c.Build().String(), file), pkg); err != nil {
			return nil, fmt.Errorf("lab run: go build %s (%s): %w", pkg, c.Build(), err)
		}
	}
	return append([]string{filepath.Join(root, cell.BuildDir, file)}, args...), nil
}
