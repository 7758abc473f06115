package advice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ErrLine is wrapped by errors about a place that is not written FILE:LINE.
var ErrLine = errors.New("want FILE:LINE")

// A Fact is one diagnostic of the compiler, in the form of the language server protocol: what
// escapes and why, or what is inlined. A line without escape diagnostics may still allocate.
type Fact struct {
	file               string
	Range              struct{ Start struct{ Line, Character int } }
	Code               string
	Message            string
	RelatedInformation []struct { // how the value reaches the heap
		Location struct {
			URI   string
			Range struct{ Start struct{ Line, Character int } }
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

// A spot is a column of a line. Columns begin with 1; 0 is none.
type spot struct {
	place
	column int
}

// where returns the position of a step or, for -1, of the fact as the compiler has it,
// where the code is inlined to.
func (f *Fact) where(step int) spot {
	if step < 0 {
		return spot{place{f.file, f.Range.Start.Line}, f.Range.Start.Character}
	}
	at := f.RelatedInformation[step].Location
	name, err := url.PathUnescape(strings.TrimPrefix(at.URI, "file://"))
	if err != nil {
		name = at.URI
	}
	return spot{place{name, at.Range.Start.Line}, at.Range.Start.Character}
}

// at returns where the source has a step or, for -1, the subject of the fact. For
// inlined code it is the innermost position that among accepts.
func (f *Fact) at(step int, among func(spot) bool) spot {
	last := step
	for last+1 < len(f.RelatedInformation) && f.RelatedInformation[last+1].Message == "inlineLoc" {
		last++
	}
	for last > step && !among(f.where(last)) {
		last--
	}
	return f.where(last)
}

func anywhere(spot) bool { return true }

// passes reports whether the code is inlined at a place, directly or by what is inlined there.
func (f *Fact) passes(at place) bool {
	for step := -1; ; step++ {
		here := f.where(step)
		if here.line == at.line && below(here.file) == below(at.file) {
			return true
		}
		if step+1 == len(f.RelatedInformation) || f.RelatedInformation[step+1].Message != "inlineLoc" {
			return false
		}
	}
}

// inlined reports whether the fact is about an inlined copy of the code.
func (f *Fact) inlined() bool { return f.at(-1, anywhere) != f.where(-1) }

// shape matches the type arguments in the compiler's names of generic instances.
var shape = regexp.MustCompile(`\[go\.shape\.(?:[^\[\]]|\[\])*\]`)

// decides returns the step that takes a flow to the heap, and its index: the last one
// with a source, because earlier ones assign to a variable or pass the value on. Taking
// an address only counts if there is no other step.
func (f *Fact) decides() (text string, step int) {
	text, step = f.Message, -1
	defer func() { text = shape.ReplaceAllString(text, "[...]") }()
	steps := 0
	for i, next := range f.RelatedInformation {
		_, from, ok := strings.Cut(strings.TrimSpace(next.Message), "from ")
		own := strings.HasSuffix(from, "(spill)") || strings.HasSuffix(from, "(address-of)")
		if ok && (!own || steps == 0) {
			text, step = from, i
		}
		if ok && !own {
			steps++
		}
	}
	return text, step
}

// Why compiles the package of a file and returns what the compiler says about the line.
func Why(ctx context.Context, at string) ([]Fact, error) {
	i := strings.LastIndexByte(at, ':')
	line, err := strconv.Atoi(at[i+1:])
	if i < 0 || err != nil || line < 1 {
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
	if file, err = filepath.EvalSymlinks(file); err != nil { // as the go command has it
		return nil, fmt.Errorf("advise: why: %w", err)
	}
	list, err := command{dir: filepath.Dir(file)}.run(ctx, "go", "list", "-e", "-find", "-f", "{{join .GoFiles `/`}}", ".")
	if err == nil && !slices.Contains(strings.Split(strings.TrimSpace(string(list)), "/"), filepath.Base(file)) {
		return nil, fmt.Errorf("advise: why: go build does not compile %s as it is: name a Go file that is no test, uses "+
			"no cgo, and is not left out by build tags (GOFLAGS=-tags=TAG), GOOS or GOARCH", at[:i])
	}
	apart := overlay(nil).apart([]string{file}) // from files of other packages with the same name
	dir, err := compiled(ctx, filepath.Dir(file), "", apart, "build", ".")
	if err != nil {
		return nil, fmt.Errorf("advise: why: %w; fix this first", err)
	}
	defer os.RemoveAll(dir)
	return facts(dir, nil, func(f *Fact) bool { return f.file == file && f.Range.Start.Line == line })
}

// compiled compiles packages by a go command, with extra compiler flags and an overlay, and
// returns the directory with what the compiler says about them. The name of the directory is
// part of the build key: a fresh one keeps the go command from taking packages from its cache.
func compiled(ctx context.Context, in, flags string, files overlay, verb string, pkgs ...string) (dir string,
	err error) {
	if dir, err = os.MkdirTemp("", "isobar-why-"); err != nil {
		return "", err
	}
	args := append([]string{verb, "-gcflags=-json=0," + dir + flags, "-o", os.DevNull}, pkgs...)
	if len(files) > 0 {
		name, err := files.write(dir)
		if err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
		args = slices.Insert(args, 1, "-overlay="+name)
	}
	if _, err = (command{dir: in}).run(ctx, "go", args...); err != nil {
		os.RemoveAll(dir)
	}
	return dir, err
}

// facts reads the wanted facts that the compiler wrote, one a line. It decodes only lines that may be wanted, all if
// may is nil: of 50,000 lines of code there are hundreds of megabytes.
func facts(dir string, may func(file string, line []byte) bool, wanted func(*Fact) bool) (out []Fact, err error) {
	files, err := fs.Glob(os.DirFS(dir), "*/*.json") // by package
	if err != nil {
		return nil, fmt.Errorf("advise: why: %w", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("advise: why: %w", err)
		}
		decode := func(line []byte, into any) error {
			if err := json.Unmarshal(renamed.ReplaceAll(line, nil), into); err != nil {
				return fmt.Errorf("advise: why: %s: %w", name, err)
			}
			return nil
		}
		var header struct{ File string }
		head, lines, _ := bytes.Cut(text, []byte("\n"))
		if err := decode(head, &header); err != nil {
			return nil, err
		}
		for line := range bytes.Lines(lines) {
			if may != nil && !may(header.File, line) {
				continue
			}
			f := Fact{file: header.File}
			if err := decode(line, &f); err != nil {
				return nil, err
			}
			if wanted(&f) {
				out = append(out, f)
			}
		}
	}
	return out, nil
}
