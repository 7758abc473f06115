package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/isobar-go/isobar/internal/advice"
)

// A module is one that the tools run on.
type module struct {
	name, dir string
	lines     int
	files     map[string][]string // the lines by name from dir, without tests and generated files
	sites     []advice.Explained
	total     float64 // bytes that were profiled
}

func readModules(dir, reports string) (all []*module, err error) {
	if dir, err = filepath.Abs(dir); err != nil { // as go list names files
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*", "go.mod"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no modules in %q (%v)", dir, err)
	}
	for _, name := range names {
		m := &module{name: filepath.Base(filepath.Dir(name)), dir: filepath.Dir(name), files: map[string][]string{}}
		if err := errors.Join(m.readFiles(), m.readReport(filepath.Join(reports, m.name+".json"))); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func (m *module) readFiles() error {
	list := exec.Command("go", "list", "-f", `{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}`, "./...")
	list.Dir, list.Env = m.dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	for _, name := range strings.Fields(string(names)) {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		short, err := filepath.Rel(m.dir, name)
		if err != nil {
			return err
		}
		if !generated.Match(text) {
			m.files[short] = strings.SplitAfter(string(text), "\n")
			m.lines += bytes.Count(text, []byte("\n"))
		}
	}
	return nil
}

func (m *module) readReport(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var report advice.Result
	err = json.Unmarshal(data, &report)
	if e := report.Evidence; e != nil && e.Account != nil {
		m.total, m.sites = float64(e.Total.Bytes), e.Account.Sites[:min(largest, len(e.Account.Sites))]
	}
	return err
}

// names reports whether f is about s.
func (m *module) names(f finding, s advice.Explained) bool {
	if f.file != s.File || f.line == s.Line {
		return f.file == s.File
	}
	to, ok := strings.CutPrefix(s.What, "append(")
	to, _, _ = strings.Cut(to, ",")
	return ok && regexp.MustCompile(`(^|\W)`+regexp.QuoteMeta(to)+`(\W|$)`).MatchString(f.message) &&
		m.function(f.file, f.line) == m.function(s.File, s.Line)
}

// function is the line in which the function around a line begins, counted from 0, or -1. A function begins at the
// start of a line, as gofmt has it.
func (m *module) function(file string, line int) int {
	for i := min(line, len(m.files[file])) - 1; i >= 0; i-- {
		if strings.HasPrefix(m.files[file][i], "func ") {
			return i
		}
	}
	return -1
}
