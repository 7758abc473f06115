// Verdicts prints the tables of default findings that were read: how many each
// module has, and how many of them are worth making.
//
//	go run ./advise/internal/verdicts >tables.md
//	isobar advise --json ./... | go run ./advise/internal/verdicts -add MODULE -rule RULE
//
// The second form takes the report of a module and prints the rows to add to
// default-runs.tsv and default-verdicts.tsv. Who reads a finding writes the verdict
// and its reason for "?".
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("verdicts: ")
	dir := flag.String("dir", "advise/testdata", "directory of default-runs.tsv and default-verdicts.tsv")
	add := flag.String("add", "", "the module and its version, whose report is on standard input")
	rule := flag.String("rule", "", "with -add: the rule that made the report")
	flag.Parse()
	var text string
	var err error
	if *add != "" {
		text, err = rows(os.Stdin, *add, *rule)
	} else {
		text, err = tables(*dir)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(text)
}

// A run is one module under one rule for what is default. A rule that was written
// after its verdicts were read is not blind.
type run struct {
	rule, module    string
	lines, findings int
}

// A verdict is one finding that was read.
type verdict struct {
	rules  []string // that show it
	module string
	worth  bool
}

// tables returns one table for each rule, in the order of default-runs.tsv.
func tables(dir string) (string, error) {
	runs, err := read(filepath.Join(dir, "default-runs.tsv"), 4, toRun)
	if err != nil {
		return "", err
	}
	verdicts, err := read(filepath.Join(dir, "default-verdicts.tsv"), 6, toVerdict)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for len(runs) > 0 {
		rule := runs[0].rule
		n := slices.IndexFunc(runs, func(r run) bool { return r.rule != rule })
		if n < 0 {
			n = len(runs)
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if err := table(&b, runs[:n], verdicts); err != nil {
			return "", err
		}
		runs = runs[n:]
	}
	return b.String(), nil
}

func table(b *strings.Builder, runs []run, verdicts []verdict) error {
	fmt.Fprintf(b, "| rule: %s | lines | findings | per 1,000 lines | read | worth making |\n"+
		"| --- | ---: | ---: | ---: | ---: | ---: |\n", runs[0].rule)
	all, read, worth := run{module: "together"}, 0, 0
	for _, r := range runs {
		n, good := 0, 0
		for _, v := range verdicts {
			if v.module == r.module && slices.Contains(v.rules, r.rule) {
				n++
				if v.worth {
					good++
				}
			}
		}
		if n < min(10, r.findings) || n > r.findings {
			return fmt.Errorf("%s, rule %s: %d verdicts of %d findings; want ten, or all", r.module, r.rule, n, r.findings)
		}
		all.lines, all.findings, read, worth = all.lines+r.lines, all.findings+r.findings, read+n, worth+good
		r.row(b, n, strconv.Itoa(good))
	}
	share := "none"
	if read > 0 {
		share = fmt.Sprintf("%d (%.0f %%)", worth, 100*float64(worth)/float64(read))
	}
	all.row(b, read, share)
	return nil
}

func (r run) row(b *strings.Builder, read int, worth string) {
	fmt.Fprintf(b, "| %s | %s | %d | %.2f | %d | %s |\n", r.module, thousands(r.lines), r.findings,
		1000*float64(r.findings)/float64(r.lines), read, worth)
}

func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// read returns what make makes of the rows of a file of tab-separated fields.
func read[T any](name string, fields int, make func([]string) (T, error)) (list []T, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.Split(line, "\t")
		if len(row) != fields {
			return nil, fmt.Errorf("%s:%d: %d fields; want %d", name, i+1, len(row), fields)
		}
		one, err := make(row)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		list = append(list, one)
	}
	return list, nil
}

func toRun(row []string) (r run, err error) {
	r = run{rule: row[0], module: row[1]}
	if r.lines, err = strconv.Atoi(row[2]); err != nil || r.lines < 1 {
		return r, fmt.Errorf("%q lines; want a positive number", row[2])
	}
	if r.findings, err = strconv.Atoi(row[3]); err != nil || r.findings < 0 {
		return r, fmt.Errorf("%q findings; want a number", row[3])
	}
	return r, nil
}

func toVerdict(row []string) (verdict, error) {
	v := verdict{rules: strings.Split(row[0], ";"), module: row[1], worth: row[4] == "yes"}
	if !v.worth && row[4] != "no" || row[5] == "" {
		return v, fmt.Errorf("verdict %q with reason %q; want yes or no, and a reason", row[4], row[5])
	}
	return v, nil
}

// rows returns the rows that a report adds to the files of runs and of verdicts.
func rows(report io.Reader, module, rule string) (string, error) {
	var r struct {
		Lines    int
		Findings []struct {
			File, Check string
			Line        int
		}
	}
	if err := json.NewDecoder(report).Decode(&r); err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\t%s\t%d\t%d\n", rule, module, r.Lines, len(r.Findings))
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s\t%s\t%s:%d\t%s\t?\t?\n", rule, module, f.File, f.Line, f.Check)
	}
	return b.String(), nil
}
