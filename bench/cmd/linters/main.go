// Linters sets what performance linters and isobar advise found in the same
// modules against the allocation sites that advise reported of the modules'
// benchmarks. Findings in tests and in generated files are left out, as advise
// leaves them out.
//
// A finding names a site if it is on its line, or says the variable that the
// site appends to in the same function. Of each tool's findings a fixed sample
// is judged by hand: -sample prints what the file of judgements lacks.
//
// Usage:
//
//	go run ./cmd/linters -modules DIR -reports DIR -found DIR [-sample]
//
// The directories have a module in each directory NAME; NAME.json of isobar advise --bench . --json; and what each
// tool printed of a module, in TOOL/NAME: lines, or the JSON of advise.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/advice"
)

const (
	largest    = 10 // sites of a report that count
	sampleSize = 20 // judged findings of a tool
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "linters: %v\n", err)
		os.Exit(1)
	}
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

// An outcome is what a tool found in all modules.
type outcome struct {
	tool     string
	findings []finding
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("linters", flag.ContinueOnError)
	modules := flags.String("modules", "", "directory with a module in each subdirectory")
	reports := flags.String("reports", "", "directory with a report of advise for each module")
	found := flags.String("found", "", "directory with what each tool printed of each module")
	sample := flags.Bool("sample", false, "print the findings of the samples that are not judged")
	judgements := flags.String("judged", filepath.Join("cmd", "linters", "testdata", "judged.tsv"), "the judgements")
	if err := flags.Parse(args); err != nil {
		return err
	}
	judged, err := readJudged(*judgements)
	if err != nil {
		return err
	}
	read, err := readModules(*modules, *reports)
	if err != nil {
		return err
	}
	outcomes, err := readOutcomes(*found, read)
	if err != nil {
		return err
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

// readOutcomes reads what the tools printed of modules.
func readOutcomes(dir string, modules []*module) (outcomes []*outcome, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no findings in %q (%v)", dir, err)
	}
	for _, name := range names {
		tool := filepath.Base(filepath.Dir(name))
		if n := len(outcomes); n == 0 || outcomes[n-1].tool != tool {
			outcomes = append(outcomes, &outcome{tool: tool})
		}
		i := slices.IndexFunc(modules, func(m *module) bool { return m.name == filepath.Base(name) })
		if i < 0 {
			return nil, fmt.Errorf("%s: no such module", name)
		}
		text, err := os.ReadFile(name)
		if err == nil {
			err = outcomes[len(outcomes)-1].add(modules[i], text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, o := range outcomes {
		slices.SortFunc(o.findings, finding.compare)
		o.findings = slices.Compact(o.findings)
	}
	return outcomes, nil
}

// add adds what the tool says of a module's files.
func (o *outcome) add(m *module, text []byte) error {
	found, err := parse(text)
	for _, f := range found {
		f.tool, f.module, f.file = o.tool, m.name, filepath.Clean(f.file)
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
func parse(text []byte) (found []finding, err error) {
	if bytes.HasPrefix(text, []byte("{")) {
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
