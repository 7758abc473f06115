//go:build unix

// Linters runs performance linters and isobar advise on the same modules, and
// sets what they find against the allocation sites that advise reported of the
// modules' benchmarks.
//
// Each linter is installed at a fixed version into a temporary directory;
// perfguard, which the module proxy refuses, has to be built before. Findings
// in tests and in generated files are left out, as advise leaves them out.
//
// A finding names a site if it is on its line, or says the variable that the
// site appends to in the same function. Of each tool's findings a fixed sample
// is judged by hand: -sample prints what the file of judgements lacks.
//
// Usage:
//
//	go run ./cmd/linters -modules DIR -reports DIR -profiles DIR [-perfguard FILE] [-sample]
//
// The directories have a module in each directory NAME; NAME.json of isobar advise --bench . --json; and, of modules
// with benchmarks, the profiles NAME.cpu.pb.gz and NAME.allocs.pb.gz, of all packages ('go test -bench . -benchtime
// 100ms -memprofilerate 16384' with -cpuprofile and -memprofile, then 'go tool pprof -proto' to merge).
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/isobar-go/isobar/internal/advice"
)

const (
	largest    = 10 // sites of a report that count
	sampleSize = 20 // judged findings of a tool
	runs       = 3  // timed runs of each tool on each module
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "linters: %v\n", err)
		os.Exit(1)
	}
}

// A tool is a linter in one of its modes.
type tool struct {
	name     string
	install  string // for go install; "" for what is there already
	program  string // its path, or its name among what was installed
	args     string // before the packages; CPU and ALLOCS stand for the profiles
	env      string
	profiled bool // without a profile it does not run on a module
}

// tools has perfguard if that is there. It breaks off on an alias as go/types has it since Go 1.23.
func tools(perfguard string) []tool {
	const noAliases = "GODEBUG=gotypesalias=0"
	all := []tool{
		{name: "prealloc", install: "github.com/alexkohler/prealloc@v1.1.0", program: "prealloc"},
		{name: "prealloc -simple=false -forloops", program: "prealloc", args: "-simple=false -forloops"},
		{name: "perfsprint", install: "github.com/catenacyber/perfsprint@v0.10.1", program: "perfsprint",
			args: "-test=false"},
		{name: "perfguard lint", program: perfguard, env: noAliases, args: "lint --no-color"},
		{name: "perfguard optimize", program: perfguard, env: noAliases, profiled: true,
			args: "optimize --no-color --heatmap CPU"},
		{name: "advise", program: "isobar", args: "advise --json"},
		{name: "advise, profiles", program: "isobar", profiled: true,
			args: "advise --json --profile CPU --profile ALLOCS"},
	}
	return slices.DeleteFunc(all, func(t tool) bool { return t.program == "" })
}

// A finding is what a tool says of a line.
type finding struct {
	tool, module, file string
	line               int
	message            string
}

func (f finding) key() string {
	return strings.Join([]string{f.tool, f.module, f.file + ":" + strconv.Itoa(f.line), f.message}, "\t")
}

func (f finding) compare(g finding) int {
	return cmp.Or(cmp.Compare(f.module, g.module), cmp.Compare(f.file, g.file), cmp.Compare(f.line, g.line),
		cmp.Compare(f.message, g.message))
}

// An outcome is what a tool did on all modules.
type outcome struct {
	tool
	findings []finding
	took     time.Duration // the sum of the medians
	peak     int64         // bytes, the largest of all processes
	failed   []string      // packages on which it breaks off
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("linters", flag.ContinueOnError)
	modules := flags.String("modules", "", "directory with a module in each subdirectory")
	reports := flags.String("reports", "", "directory with a report of advise for each module")
	profiles := flags.String("profiles", "", "directory with the profiles")
	perfguard := flags.String("perfguard", "", "the program perfguard")
	sample := flags.Bool("sample", false, "print the findings of the samples that are not judged")
	judgements := flags.String("judged", filepath.Join("cmd", "linters", "testdata", "judged.tsv"), "the judgements")
	if err := flags.Parse(args); err != nil {
		return err
	}
	judged, err := readJudged(*judgements)
	if err != nil {
		return err
	}
	for _, dir := range []*string{modules, profiles} { // commands run in the modules
		if *dir, err = filepath.Abs(*dir); err != nil {
			return err
		}
	}
	read, err := readModules(*modules, *reports, *profiles)
	if err != nil {
		return err
	}
	bin, err := os.MkdirTemp("", "linters")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	var outcomes []outcome
	for _, t := range tools(*perfguard) {
		o, err := t.runOn(read, bin)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		outcomes = append(outcomes, o)
	}
	if !*sample {
		_, err = io.WriteString(out, table(outcomes, read, judged))
		return err
	}
	for _, o := range outcomes {
		for _, f := range pick(o.findings) {
			if _, ok := judged[f.key()]; !ok {
				fmt.Fprintln(out, f.key())
			}
		}
	}
	return nil
}

// put installs the tool, or builds isobar, into bin.
func (t tool) put(bin string) error {
	args := []string{"install", t.install}
	if t.program == "isobar" {
		args = []string{"build", "-C", "..", "-o", bin, "./cmd/isobar"} // from the directory bench
	} else if t.install == "" {
		return nil
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOBIN="+bin)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, text)
	}
	return nil
}

// runOn runs a tool on all modules.
func (t tool) runOn(modules []*module, bin string) (outcome, error) {
	o := outcome{tool: t}
	if err := t.put(bin); err != nil {
		return o, err
	}
	for _, m := range modules {
		if t.profiled && m.cpu == "" {
			continue
		}
		text, err := t.timed(m, bin, &o)
		if err == nil {
			err = o.add(m, text)
		}
		if err != nil {
			return o, fmt.Errorf("%s: %w: %s", m.name, err, text)
		}
	}
	slices.SortFunc(o.findings, finding.compare)
	o.findings = slices.Compact(o.findings)
	return o, nil
}

// timed runs a tool on a module and returns what it says, of each package by itself if it breaks off on all. Exit codes
// do not say whether it did: with findings they are 1 of one tool and 3 of another.
func (t tool) timed(m *module, bin string, o *outcome) (text []byte, err error) {
	broken := func(text []byte) bool { return strings.Contains(string(text), "panic: ") }
	var took []time.Duration
	for range runs {
		cmd := t.command(m, bin, "./...")
		began := time.Now()
		text, err = output(cmd)
		took = append(took, time.Since(began))
		if cmd.ProcessState == nil {
			return text, err
		}
		o.peak = max(o.peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	}
	slices.Sort(took)
	o.took += took[len(took)/2]
	if !broken(text) {
		return text, nil
	}
	packages, err := m.list("{{.ImportPath}}")
	text = nil
	for _, pkg := range packages {
		part, _ := output(t.command(m, bin, pkg))
		if broken(part) {
			o.failed = append(o.failed, pkg)
		}
		text = append(text, part...)
	}
	return text, err
}

func (t tool) command(m *module, bin, packages string) *exec.Cmd {
	args := append(strings.Fields(t.args), packages)
	for i, arg := range args {
		args[i] = cmp.Or(map[string]string{"CPU": m.cpu, "ALLOCS": m.allocs}[arg], arg)
	}
	program := t.program
	if !filepath.IsAbs(program) {
		program = filepath.Join(bin, program)
	}
	cmd := m.command(program, args...)
	cmd.Env = append(cmd.Env, t.env)
	return cmd
}

// output returns what a command says: advise on its standard output alone.
func output(cmd *exec.Cmd) ([]byte, error) {
	if filepath.Base(cmd.Path) == "isobar" {
		return cmd.Output()
	}
	return cmd.CombinedOutput()
}

// add adds what the tool says of a module's files.
func (o *outcome) add(m *module, text []byte) error {
	found, err := o.parse(text)
	for _, f := range found {
		f.tool, f.module, f.file = o.name, m.name, filepath.Clean(f.file)
		if short, err := filepath.Rel(m.dir, f.file); err == nil && filepath.IsAbs(f.file) {
			f.file = short
		}
		if m.files[f.file] != nil {
			o.findings = append(o.findings, f)
		}
	}
	return err
}

var findingLine = regexp.MustCompile(`(?m)^(\S+\.go):(\d+)(?::\d+)?:? +(.+)$`)

// parse reads what a tool printed.
func (t tool) parse(text []byte) (found []finding, err error) {
	if t.program == "isobar" {
		var report advice.Result
		err = json.Unmarshal(text, &report)
		for _, f := range report.Findings {
			found = append(found, finding{file: f.File, line: f.Line, message: f.Check + ": " + f.Message})
		}
		return found, err
	}
	for _, m := range findingLine.FindAllStringSubmatch(string(text), -1) {
		line, _ := strconv.Atoi(m[2])
		// fiximports is what perfsprint's other fixes need, by itself nothing.
		if message := strings.TrimSpace(m[3]); !strings.HasPrefix(message, "fiximports: ") {
			found = append(found, finding{file: m[1], line: line, message: message})
		}
	}
	return found, nil
}
