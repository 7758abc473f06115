package advice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrLine is wrapped by the errors of a place that is not written FILE:LINE.
var ErrLine = errors.New("want FILE:LINE")

// A Fact is one diagnostic of the compiler, in its form, that of the language server
// protocol: what escapes, and why, or what is inlined. Escape diagnostics explain; that
// a line has none does not prove that it does not allocate.
type Fact struct {
	Range              struct{ Start struct{ Line, Character int } }
	Code               string
	Message            string
	RelatedInformation []struct { // how the value reaches the heap
		Location struct {
			Range struct{ Start struct{ Line int } }
		}
		Message string
	}
}

func (f Fact) String() string {
	s := fmt.Sprintf("%d:%d: %s", f.Range.Start.Line, f.Range.Start.Character, f.Code)
	if f.Message != "" {
		s += ": " + f.Message
	}
	for _, step := range f.RelatedInformation {
		s += fmt.Sprintf("\n    line %d: %s", step.Location.Range.Start.Line, strings.TrimSpace(step.Message))
	}
	return s
}

// decides is the step of a flow that takes it to the heap: the last one that says
// from where.
func (f *Fact) decides() string {
	last := f.Message
	for _, step := range f.RelatedInformation {
		if _, from, ok := strings.Cut(strings.TrimSpace(step.Message), "from "); ok {
			last = fmt.Sprintf("%s, line %d", from, step.Location.Range.Start.Line)
		}
	}
	return last
}

// Why compiles the package of a file and returns what the compiler says of
// the line.
func Why(ctx context.Context, at string) ([]Fact, error) {
	i := strings.LastIndexByte(at, ':')
	if i < 0 {
		return nil, fmt.Errorf("advise: why: %q: %w", at, ErrLine)
	}
	line, err := strconv.Atoi(at[i+1:])
	if err != nil || line < 1 {
		return nil, fmt.Errorf("advise: why: %q: %w", at, ErrLine)
	}
	file, err := filepath.Abs(at[:i])
	if err != nil {
		return nil, fmt.Errorf("advise: why: %w", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("advise: why: %w; name a file of a package", err)
	}
	if n := bytes.Count(text, []byte("\n")) + 1; line > n {
		return nil, fmt.Errorf("advise: why: %s has %d lines, so none is line %d", at[:i], n, line)
	}
	dir, err := compiled(ctx, filepath.Dir(file), ".")
	if err != nil {
		return nil, fmt.Errorf("advise: why: %w; fix this first", err)
	}
	defer os.RemoveAll(dir)
	return facts(dir, filepath.Base(file), line)
}

// compiled compiles packages and returns the directory that holds what the compiler
// says of them. Its name is part of the build's key: a fresh one keeps the go command
// from taking a package out of its cache.
func compiled(ctx context.Context, in string, pkgs ...string) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "isobar-why-"); err != nil {
		return "", err
	}
	args := append([]string{"build", "-gcflags=-json=0," + dir, "-o", os.DevNull}, pkgs...)
	if _, err = (command{dir: in}).run(ctx, "go", args...); err != nil {
		os.RemoveAll(dir)
	}
	return dir, err
}

// facts reads what the compiler wrote about a line of a file.
func facts(dir, base string, line int) ([]Fact, error) {
	var out []Fact
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != strings.TrimSuffix(base, ".go")+".json" {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		for dec := json.NewDecoder(f); dec.More(); {
			var f Fact // the first is a header, of no line
			if err := dec.Decode(&f); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if f.Range.Start.Line == line {
				out = append(out, f)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("advise: why: %w", err)
	}
	return out, nil
}
