//go:build unix

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
)

// A module is one that the tools run on.
type module struct {
	name, dir   string
	lines       int
	files       map[string][]string // the lines by name from dir, without tests and generated files
	sites       []site
	total       float64 // bytes that were profiled
	cpu, allocs string  // profiles; empty without benchmarks
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

func readModules(dir, reports, profiles string) (all []*module, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*", "go.mod"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no modules in %q (%v)", dir, err)
	}
	for _, name := range names {
		m := &module{name: filepath.Base(filepath.Dir(name)), files: map[string][]string{}}
		m.dir, err = filepath.Abs(filepath.Dir(name))
		if at, e := filepath.Abs(filepath.Join(profiles, m.name)); e == nil && exists(at+".allocs.pb.gz") {
			m.cpu, m.allocs = at+".cpu.pb.gz", at+".allocs.pb.gz"
		}
		if err := errors.Join(err, m.readFiles(), m.readReport(filepath.Join(reports, m.name+".json"))); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func (m *module) readFiles() error {
	names, err := m.list(`{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}`)
	if err != nil {
		return err
	}
	for _, name := range names {
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
	err = json.Unmarshal(data, &report)
	m.total, m.sites = report.Evidence.Total.Bytes, report.Evidence.Account.Sites
	m.sites = m.sites[:min(largest, len(m.sites))]
	return err
}

// list is what go list has of the packages.
func (m *module) list(format string) ([]string, error) {
	list, err := m.command("go", "list", "-f", format, "./...").Output()
	if err != nil {
		err = fmt.Errorf("go list: %w", err)
	}
	return strings.Fields(string(list)), err
}

func (m *module) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = m.dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	return cmd
}

// names reports whether f is about s.
func (m *module) names(f finding, s site) bool {
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
