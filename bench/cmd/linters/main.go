//go:build unix

// Linters runs performance linters and isobar advise on the same modules, and
// sets what they find against the allocation sites that advise reported of the
// modules' benchmarks.
//
// Each linter is installed at a fixed version into a temporary directory;
// perfguard, which the module proxy refuses, has to be built before. Findings
// in tests and in generated files are left out, as advise leaves them out. The
// benchmarks of each module run once for the profiles that perfguard optimize
// and advise take.
//
// A finding names a site if it is on its line, or says the variable that the
// site appends to in the same function. Of each tool's findings a fixed sample
// is judged by hand: -sample prints what the file of judgements lacks.
//
// Usage:
//
//	go run ./cmd/linters -modules DIR -reports DIR [-perfguard FILE] [-profiles DIR] [-sample]
//
// DIR has a module in each directory NAME, and NAME.json of isobar advise
// --bench . --json.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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
	name, version string
	install       string // for go install, without the version
	program       string
	args          []string // PACKAGES stands for the packages, CPU and ALLOCS for the profiles
	env           []string
	profiled      bool // without a profile it does not run on a module
}

// noAliases is for perfguard, which breaks off on an alias as go/types has it
// since Go 1.23.
var noAliases = []string{"GODEBUG=gotypesalias=0"}

func tools(perfguard string) []tool {
	all := []tool{
		{name: "prealloc", version: "v1.1.0", install: "github.com/alexkohler/prealloc", program: "prealloc",
			args: []string{"PACKAGES"}},
		{name: "prealloc -simple=false -forloops", program: "prealloc",
			args: []string{"-simple=false", "-forloops", "PACKAGES"}},
		{name: "perfsprint", version: "v0.10.1", install: "github.com/catenacyber/perfsprint", program: "perfsprint",
			args: []string{"-test=false", "PACKAGES"}},
		{name: "advise", program: "isobar", args: []string{"advise", "--json", "PACKAGES"}},
		{name: "advise, profiles", program: "isobar", profiled: true,
			args: []string{"advise", "--json", "--profile", "CPU", "--profile", "ALLOCS", "PACKAGES"}},
	}
	if perfguard != "" {
		all = slices.Insert(all, 3,
			tool{name: "perfguard lint", program: perfguard, env: noAliases, args: []string{"lint", "--no-color", "PACKAGES"}},
			tool{name: "perfguard optimize", program: perfguard, env: noAliases, profiled: true,
				args: []string{"optimize", "--no-color", "--heatmap", "CPU", "PACKAGES"}})
	}
	return all
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

// A site is an allocation site of a report.
type site struct {
	File  string `json:"file"`
	Line  int    `json:"line"`
	What  string `json:"what"`
	Share struct {
		Bytes float64 `json:"alloc_bytes"`
	} `json:"share"`
}

// A module is one that the tools run on.
type module struct {
	name, dir   string
	lines       int
	files       map[string]*ast.File // by name from dir, without tests and generated files
	fset        *token.FileSet
	sites       []site
	total       float64 // bytes that were profiled
	cpu, allocs string  // profiles; empty without benchmarks
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
	perfguard := flags.String("perfguard", "", "the program perfguard")
	profiles := flags.String("profiles", "", "directory that keeps the profiles, and may have them")
	sample := flags.Bool("sample", false, "print the findings of the samples that are not judged")
	judgements := flags.String("judged", filepath.Join("cmd", "linters", "testdata", "judged.tsv"), "the judgements")
	if err := flags.Parse(args); err != nil {
		return err
	}
	judged, err := readJudged(*judgements)
	if err != nil {
		return err
	}
	bin, err := os.MkdirTemp("", "linters")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	all := tools(*perfguard)
	if err := install(all, bin); err != nil {
		return err
	}
	read, err := readModules(*modules, *reports, cmp.Or(*profiles, bin))
	if err != nil {
		return err
	}
	var outcomes []outcome
	for _, t := range all {
		o, err := t.runOn(read, bin)
		if err != nil {
			return err
		}
		outcomes = append(outcomes, o)
	}
	if *sample {
		for _, o := range outcomes {
			for _, f := range pick(o.findings) {
				if _, ok := judged[f.key()]; !ok {
					fmt.Fprintln(out, f.key())
				}
			}
		}
		return nil
	}
	_, err = io.WriteString(out, table(outcomes, read, judged))
	return err
}

// install puts the tools and isobar into bin.
func install(all []tool, bin string) error {
	for _, t := range all {
		if t.install == "" {
			continue
		}
		cmd := exec.Command("go", "install", t.install+"@"+t.version)
		cmd.Env, cmd.Dir = append(os.Environ(), "GOBIN="+bin), bin
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("install %s: %w: %s", t.name, err, text)
		}
	}
	build := exec.Command("go", "build", "-C", "..", "-o", filepath.Join(bin, "isobar"), "./cmd/isobar")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build isobar, from the directory bench: %w: %s", err, text)
	}
	return nil
}

func readModules(dir, reports, profiles string) ([]*module, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*", "go.mod"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no modules in %q (%v)", dir, err)
	}
	var all []*module
	for _, name := range names {
		path, err := filepath.Abs(filepath.Dir(name))
		if err != nil {
			return nil, err
		}
		m := &module{name: filepath.Base(path), dir: path, fset: token.NewFileSet(), files: map[string]*ast.File{}}
		for _, step := range []func() error{
			m.readFiles,
			func() error { return m.readReport(filepath.Join(reports, m.name+".json")) },
			func() error { return m.profile(profiles) },
		} {
			if err := step(); err != nil {
				return nil, fmt.Errorf("%s: %w", m.name, err)
			}
		}
		all = append(all, m)
	}
	return all, nil
}

func (m *module) readFiles() error {
	const format = `{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}`
	list, err := m.command("go", "list", "-f", format, "./...").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	for name := range strings.FieldsSeq(string(list)) {
		f, err := parser.ParseFile(m.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(f) {
			continue
		}
		short, err := filepath.Rel(m.dir, name)
		if err != nil {
			return err
		}
		m.files[short] = f
		m.lines += m.fset.File(f.FileStart).LineCount()
	}
	return nil
}

func (m *module) readReport(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var report struct {
		Evidence struct {
			Total struct {
				Bytes float64 `json:"alloc_bytes"`
			} `json:"total"`
			Account struct {
				Sites []site `json:"sites"`
			} `json:"account"`
		} `json:"evidence"`
	}
	if err := json.Unmarshal(data, &report); err != nil {
		return err
	}
	m.total, m.sites = report.Evidence.Total.Bytes, report.Evidence.Account.Sites
	m.sites = m.sites[:min(largest, len(m.sites))]
	return nil
}

// profile runs the benchmarks of all packages and leaves their profiles in dir,
// unless it has them.
func (m *module) profile(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	m.cpu, m.allocs = filepath.Join(dir, m.name+".cpu.pb.gz"), filepath.Join(dir, m.name+".allocs.pb.gz")
	if _, err := os.Stat(m.allocs); err == nil {
		return nil
	}
	const format = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"
	list, err := m.command("go", "list", "-f", format, "./...").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	var cpu, allocs []string
	for i, pkg := range strings.Fields(string(list)) {
		base := filepath.Join(dir, fmt.Sprint(m.name, ".", i))
		text, err := m.command("go", "test", "-run=^$", "-vet=off", "-bench=.", "-benchtime=100ms",
			"-cpuprofile="+base+".cpu", "-memprofile="+base+".allocs", "-memprofilerate=16384",
			"-o="+base+".test", pkg).CombinedOutput()
		if err != nil { // where one benchmark fails, the profiles have the others
			fmt.Fprintf(os.Stderr, "linters: benchmarks of %s: %v: %s\n", pkg, err, text)
		}
		if strings.Contains(string(text), "\nBenchmark") {
			cpu, allocs = append(cpu, base+".cpu"), append(allocs, base+".allocs")
		}
	}
	if len(cpu) == 0 {
		m.cpu, m.allocs = "", ""
		return nil
	}
	for name, parts := range map[string][]string{m.cpu: cpu, m.allocs: allocs} {
		args := append([]string{"tool", "pprof", "-proto", "-symbolize=none", "-output=" + name}, parts...)
		if text, err := m.command("go", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("merge profiles: %w: %s", err, text)
		}
	}
	return nil
}

func (m *module) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = m.dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	return cmd
}

// runOn runs a tool on all modules.
func (t tool) runOn(modules []*module, bin string) (outcome, error) {
	o := outcome{tool: t}
	for _, m := range modules {
		if t.profiled && m.cpu == "" {
			continue
		}
		var took []time.Duration
		var text []byte
		for range runs {
			cmd := t.command(m, bin, "./...")
			began := time.Now()
			var err error
			text, err = output(cmd)
			took = append(took, time.Since(began))
			if cmd.ProcessState == nil {
				return o, fmt.Errorf("%s on %s: %w", t.name, m.name, err)
			}
			o.peak = max(o.peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
		}
		slices.Sort(took)
		o.took += took[len(took)/2]
		if broken(text) {
			text = t.byPackage(m, bin, &o)
		}
		found, err := t.parse(text)
		if err != nil {
			return o, fmt.Errorf("%s on %s: %w: %s", t.name, m.name, err, text)
		}
		for _, f := range found {
			f.tool, f.module = t.name, m.name
			if filepath.IsAbs(f.file) {
				if short, err := filepath.Rel(m.dir, f.file); err == nil {
					f.file = short
				}
			}
			f.file = filepath.Clean(f.file)
			if m.files[f.file] != nil {
				o.findings = append(o.findings, f)
			}
		}
	}
	slices.SortFunc(o.findings, finding.compare)
	o.findings = slices.Compact(o.findings)
	return o, nil
}

// byPackage runs a tool that breaks off on a module on each of its packages.
func (t tool) byPackage(m *module, bin string, o *outcome) (all []byte) {
	list, err := m.command("go", "list", "./...").Output()
	if err != nil {
		o.failed = append(o.failed, m.name)
		return nil
	}
	for pkg := range strings.FieldsSeq(string(list)) {
		text, _ := output(t.command(m, bin, pkg))
		if broken(text) {
			o.failed = append(o.failed, pkg)
			fmt.Fprintf(os.Stderr, "linters: %s on %s:\n%s\n", t.name, pkg, text)
		}
		all = append(all, text...)
	}
	return all
}

// broken reports whether a tool broke off. Their exit codes do not say: with
// findings it is 1 of one tool and 3 of another.
func broken(text []byte) bool { return strings.Contains(string(text), "panic: ") }

func (t tool) command(m *module, bin, packages string) *exec.Cmd {
	args := slices.Clone(t.args)
	for i := range args {
		with := map[string]string{"CPU": m.cpu, "ALLOCS": m.allocs, "PACKAGES": packages}[args[i]]
		args[i] = cmp.Or(with, args[i])
	}
	program := t.program
	if !filepath.IsAbs(program) {
		program = filepath.Join(bin, program)
	}
	cmd := m.command(program, args...)
	cmd.Env = append(cmd.Env, t.env...)
	return cmd
}

// output returns what a command says: advise on its standard output alone.
func output(cmd *exec.Cmd) ([]byte, error) {
	if filepath.Base(cmd.Path) == "isobar" {
		return cmd.Output()
	}
	return cmd.CombinedOutput()
}

func (f finding) compare(g finding) int {
	return cmp.Or(cmp.Compare(f.module, g.module), cmp.Compare(f.file, g.file), cmp.Compare(f.line, g.line),
		cmp.Compare(f.message, g.message))
}

var findingLine = regexp.MustCompile(`(?m)^(\S+\.go):(\d+)(?::\d+)?:? +(.+)$`)

// parse reads what a tool printed.
func (t tool) parse(text []byte) ([]finding, error) {
	var found []finding
	if t.program != "isobar" {
		for _, m := range findingLine.FindAllSubmatch(text, -1) {
			line, err := strconv.Atoi(string(m[2]))
			if err != nil {
				return nil, err
			}
			message := strings.TrimSpace(string(m[3]))
			if strings.HasPrefix(message, "fiximports: ") {
				continue // what perfsprint's other fixes need, by itself nothing
			}
			found = append(found, finding{file: string(m[1]), line: line, message: message})
		}
		return found, nil
	}
	var report struct {
		Findings []struct {
			File, Check, Message string
			Line                 int
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, err
	}
	for _, f := range report.Findings {
		found = append(found, finding{file: f.File, line: f.Line, message: f.Check + ": " + f.Message})
	}
	return found, nil
}
