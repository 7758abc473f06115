package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A job is one command: some packages under the same flags.
type job struct {
	Blocks                int
	Benchtime, Bench, CPU string
	Ours                  string
	Wall, Pin             bool
	Experiment            string // GOEXPERIMENT of the build and the run
	Variant               string // what tells its sections from those of other jobs
	Packages              string // separated by spaces
}

// flags sets the defaults, which flags may change.
func (j *job) flags(flags *flag.FlagSet) {
	flags.IntVar(&j.Blocks, "blocks", 10, "repetitions; each runs every benchmark once")
	flags.StringVar(&j.Benchtime, "benchtime", "100ms", "as of go test")
	flags.StringVar(&j.Bench, "bench", ".", "as of go test")
	flags.StringVar(&j.CPU, "cpu", "1,2", "as of go test")
	flags.StringVar(&j.Ours, "ours", prefix, "the implementation that the peers are compared with")
	flags.BoolVar(&j.Wall, "wall", false, "compare wall time, CPU time or not")
	flags.BoolVar(&j.Pin, "pin", false, "run on the first CPU only")
	flags.StringVar(&j.Experiment, "experiment", "", "GOEXPERIMENT of the build")
	flags.StringVar(&j.Variant, "variant", "", "added to the names of the sections")
}

var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// line is what a shell has to be given after the name of this program; no value
// has an apostrophe.
func (j job) line() string {
	flags := flag.NewFlagSet("job", flag.ContinueOnError)
	var now job
	now.flags(flags)
	now = j
	var words []string
	flags.VisitAll(func(f *flag.Flag) {
		if value := f.Value.String(); value != f.DefValue {
			words = append(words, "-"+f.Name+"="+value)
		}
	})
	words = append(words, strings.Fields(j.Packages)...)
	for i, w := range words {
		if !plain.MatchString(w) {
			words[i] = "'" + w + "'"
		}
	}
	return strings.Join(words, " ")
}

// A binary is a compiled test binary of one package.
type binary struct{ pkg, dir, file string }

func (j job) build(dir string) ([]binary, error) {
	list := exec.Command("go", slices.Concat([]string{"list", "-f",
		"{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"}, strings.Fields(j.Packages))...)
	list.Env = j.environ()
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", j.Packages, err)
	}
	var binaries []binary
	for line := range strings.Lines(string(out)) {
		pkg, pkgDir, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		file := filepath.Join(dir, strings.ReplaceAll(pkg+j.Experiment, "/", "_"))
		build := exec.Command("go", "test", "-c", "-o", file, pkg)
		build.Env = j.environ()
		if msg, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, msg)
		}
		binaries = append(binaries, binary{strings.TrimPrefix(pkg, "github.com/isobar-go/isobar/bench/"), pkgDir, file})
	}
	if len(binaries) == 0 {
		return nil, fmt.Errorf("no tests in %s", j.Packages)
	}
	return binaries, nil
}

func (j job) environ() []string {
	if j.Experiment == "" {
		return os.Environ()
	}
	return append(os.Environ(), "GOEXPERIMENT="+j.Experiment)
}

// run runs the benchmarks of a package once.
func (j job) run(b binary) ([]byte, error) {
	args := []string{b.file, "-test.run=^$", "-test.bench=" + j.Bench, "-test.benchtime=" + j.Benchtime, "-test.benchmem",
		"-test.cpu=" + j.CPU}
	if j.Pin {
		args = append([]string{"taskset", "-c", "0"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = b.dir, j.environ(), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", b.pkg, err, out)
	}
	return out, nil
}
