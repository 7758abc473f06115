package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A job is one command: some packages under the same flags.
type job struct {
	blocks                int
	benchtime, bench, cpu string
	seed                  uint64
	ours                  string
	wall, pin             bool
	packages              []string
	experiment            string // GOEXPERIMENT of the build and the run
	variant               string // what tells its sections from those of other jobs
}

// newJob returns the job that flags will describe.
func newJob(flags *flag.FlagSet) *job {
	j := &job{experiment: os.Getenv("GOEXPERIMENT")}
	flags.IntVar(&j.blocks, "blocks", 10, "repetitions; each runs every benchmark once")
	flags.StringVar(&j.benchtime, "benchtime", "100ms", "as of go test")
	flags.StringVar(&j.bench, "bench", ".", "as of go test")
	flags.StringVar(&j.cpu, "cpu", "1,2", "as of go test")
	flags.Uint64Var(&j.seed, "seed", 1, "seed of the order of packages")
	flags.StringVar(&j.ours, "ours", prefix, "the implementation that the peers are compared with")
	flags.BoolVar(&j.wall, "wall", false, "compare wall time, CPU time or not")
	flags.BoolVar(&j.pin, "pin", false, "run on the first CPU only")
	flags.StringVar(&j.experiment, "experiment", j.experiment, "GOEXPERIMENT of the build")
	flags.StringVar(&j.variant, "variant", "", "added to the names of the sections")
	return j
}

func (j job) with(packages []string) job {
	if j.packages = packages; len(packages) == 0 {
		j.packages = []string{"./..."}
	}
	return j
}

// parseJob reads what command writes.
func parseJob(line string) (job, error) {
	flags := flag.NewFlagSet("job", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	j := newJob(flags)
	j.experiment = ""
	if err := flags.Parse(fields(line)); err != nil {
		return job{}, fmt.Errorf("job %q: %w", line, err)
	}
	return j.with(flags.Args()), nil
}

var word = regexp.MustCompile(`(?:'[^']*'|[^\s'])+`)

// fields splits a command at its spaces, but for those between apostrophes.
func fields(line string) []string {
	words := word.FindAllString(line, -1)
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "'", "")
	}
	return words
}

var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// line is what a shell has to be given after the name of this program; no value
// has an apostrophe.
func (j job) line() string {
	flags := flag.NewFlagSet("job", flag.ContinueOnError)
	now := newJob(flags)
	now.experiment = ""
	defaults := map[string]string{}
	flags.VisitAll(func(f *flag.Flag) { defaults[f.Name] = f.Value.String() })
	*now = j
	var words []string
	flags.VisitAll(func(f *flag.Flag) {
		if value := f.Value.String(); value != defaults[f.Name] {
			words = append(words, "-"+f.Name+"="+value)
		}
	})
	words = append(words, j.packages...)
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
		"{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"}, j.packages)...)
	list.Env = j.environ()
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(j.packages, " "), err)
	}
	var binaries []binary
	for line := range strings.Lines(string(out)) {
		pkg, pkgDir, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		file := filepath.Join(dir, strings.ReplaceAll(pkg+j.experiment, "/", "_"))
		build := exec.Command("go", "test", "-c", "-o", file, pkg)
		build.Env = j.environ()
		if msg, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, msg)
		}
		binaries = append(binaries, binary{strings.TrimPrefix(pkg, "github.com/isobar-go/isobar/bench/"), pkgDir, file})
	}
	if len(binaries) == 0 {
		return nil, fmt.Errorf("no tests in %s", strings.Join(j.packages, " "))
	}
	return binaries, nil
}

func (j job) environ() []string {
	if j.experiment == "" {
		return os.Environ()
	}
	return append(os.Environ(), "GOEXPERIMENT="+j.experiment)
}

// run runs the benchmarks of a package once.
func (j job) run(b binary) ([]byte, error) {
	args := []string{b.file, "-test.run=^$", "-test.bench=" + j.bench, "-test.benchtime=" + j.benchtime, "-test.benchmem",
		"-test.cpu=" + j.cpu}
	if j.pin {
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
