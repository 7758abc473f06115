package advice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/isobar-go/isobar/advise/check"
)

// VerifyPatches tries patches that somebody wrote, each alone and in their
// order, as Verify tries the fixes of findings: what a patch changes must be
// run by a benchmark or a test, and the benchmarks must allocate less with it.
// The patches are relative to the repository or to the directory of c, and
// leave tests as they are.
func VerifyPatches(ctx context.Context, c VerifyConfig, names []string) (*Verification, error) {
	v, err := newVerifier(ctx, c)
	if err != nil {
		return nil, err
	}
	defer v.remove()
	var remedies []*remedy
	for _, name := range names {
		m, err := v.byHand(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("advise: patch: %s: %w", name, err)
		}
		remedies = append(remedies, m)
		v.Patterns = append(slices.Clone(v.Patterns), m.pkgs...)
	}
	return v.verify(ctx, remedies)
}

// A diffFile is a patch on disk, as it applies to the copy.
type diffFile struct {
	name  string // absolute
	text  []byte
	files []string // the originals that it changes
	dir   string   // of the copy, where its names begin
	strip int      // how many elements of its names are left out there
}

// byHand reads a patch and finds out what it changes: it is made in the copy,
// which holds no other, and taken back.
func (v *verifier) byHand(ctx context.Context, name string) (*remedy, error) {
	p, err := v.readPatch(ctx, name)
	if err != nil {
		return nil, err
	}
	alone, err := v.gitApply(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := v.put(alone, false); err != nil {
		return nil, err
	}
	m := &remedy{make: func(ctx context.Context) (*Patch, error) { return v.gitApply(ctx, p) }}
	var spots []spot
	for _, file := range alone.Files() {
		c := alone.files[file]
		if filepath.Ext(file) != ".go" || c.old == nil {
			continue
		}
		copied, _ := v.at(file)
		pkgs, err := v.testPackages(ctx, []string{filepath.Dir(copied)})
		if err != nil {
			return nil, fmt.Errorf("%s is in no package of this build: %w", relative(v.patch.base, file), err)
		}
		pkg := pkgs[0].ImportPath
		if !slices.Contains(m.pkgs, pkg) {
			m.pkgs = append(m.pkgs, pkg)
		}
		text := strings.Split(string(c.old), "\n")
		lines := slices.DeleteFunc(changedLines(c.old, c.new), func(line int) bool {
			code := strings.TrimSpace(text[line-1])
			return code == "" || strings.HasPrefix(code, "//")
		})
		for _, line := range lines {
			indent := len(text[line-1]) - len(strings.TrimLeft(text[line-1], " \t"))
			spots = append(spots, spotOf(pkg, file, line, indent+1))
		}
		if m.finding.File == "" && len(lines) > 0 {
			m.finding = v.patched(name, file, pkg, lines)
		}
	}
	if m.finding.File == "" {
		return nil, errors.New("it changes no Go code that is there; nothing could be measured")
	}
	m.spots = [][]spot{spots}
	return m, nil
}

// patched is what stands for a patch where findings are listed.
func (v *verifier) patched(name, file, pkg string, lines []int) Finding {
	base, err := resolved(v.Dir)
	if err != nil {
		base = v.root
	}
	first, last := lines[0], lines[len(lines)-1]
	fset := token.NewFileSet()
	if f, err := parser.ParseFile(fset, file, nil, parser.ImportsOnly); err == nil && len(f.Decls) > 0 {
		imports := fset.Position(f.Decls[len(f.Decls)-1].End()).Line
		if i := slices.IndexFunc(lines, func(line int) bool { return line > imports }); i >= 0 {
			first = lines[i]
		}
	}
	return Finding{
		File: relative(base, file), Line: first, Column: 1, EndLine: last, Check: "patch", Severity: check.Advice.String(),
		Message: name, Fix: true,
		Pkg: pkg, Spans: []span{{File: file, From: first, To: last, Column: 1}},
	}
}

// readPatch finds out which files a patch changes, and refuses those that a
// proof cannot be about.
func (v *verifier) readPatch(ctx context.Context, name string) (*diffFile, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	p := &diffFile{name: abs}
	if p.text, err = os.ReadFile(abs); err != nil {
		return nil, err
	}
	if line := renames.Find(p.text); line != nil {
		return nil, fmt.Errorf("%q: it renames or copies files; make it with git diff --no-renames", line)
	}
	out, err := v.git(ctx, v.tmp, "apply", "--numstat", "-z", abs)
	if err != nil {
		return nil, fmt.Errorf("%w; want a patch as git diff writes it", err)
	}
	var rels []string
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if fields := strings.SplitN(entry, "\t", 3); len(fields) == 3 {
			rels = append(rels, filepath.FromSlash(fields[2]))
		}
	}
	if len(rels) == 0 {
		return nil, errors.New("it changes no file; want a patch as git diff writes it")
	}
	base, err := v.basis(rels)
	if err != nil {
		return nil, err
	}
	for _, rel := range rels {
		file := filepath.Join(base, rel)
		switch _, inside := v.at(file); {
		case !inside:
			return nil, fmt.Errorf("%s is outside the module at %s; a patch is proven in the one module that it changes", file,
				v.root)
		case strings.HasSuffix(rel, "_test.go") || slices.Contains(strings.Split(filepath.ToSlash(rel), "/"), "testdata"):
			return nil, fmt.Errorf("%s is part of the tests, which have to stay the same on both sides; make that change "+
				"first, and the patch without it", rel)
		}
		p.files = append(p.files, file)
	}
	p.dir, p.strip = v.copied, 1
	if dir, ok := v.at(base); ok {
		p.dir = dir
	} else if rel, err := filepath.Rel(base, v.root); err == nil {
		p.strip += 1 + strings.Count(filepath.ToSlash(rel), "/")
	}
	return p, nil
}

// renames matches the lines of a patch that move a file.
var renames = regexp.MustCompile(`(?m)^(rename|copy) (from|to) .*$`)

// basis returns the directory that the names of a patch are relative to: the
// repository's, or else the one that was asked for, where that has the files.
func (v *verifier) basis(rels []string) (string, error) {
	dir, err := resolved(v.Dir)
	if err != nil {
		return "", err
	}
	for _, base := range []string{v.patch.base, dir} {
		if slices.ContainsFunc(rels, func(rel string) bool { return exists(filepath.Join(base, rel)) }) {
			return base, nil
		}
	}
	return v.patch.base, nil
}

// git runs git as if the copy were in no repository.
func (v *verifier) git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return command{dir, append(slices.Clone(v.env), "GIT_CEILING_DIRECTORIES="+filepath.Dir(v.tmp), "LC_ALL=C")}.run(ctx,
		"git", args...)
}

// gitApply makes a patch in the copy, all of it or nothing, and returns what
// it changed.
func (v *verifier) gitApply(ctx context.Context, p *diffFile) (*Patch, error) {
	alone := &Patch{base: v.patch.base, files: map[string]contents{}}
	for _, file := range p.files {
		text, err := v.copyOf(file)
		if err != nil {
			return nil, err
		}
		alone.files[file] = contents{old: text}
	}
	if _, err := v.git(ctx, p.dir, "apply", "--whitespace=nowarn", "-p"+strconv.Itoa(p.strip), p.name); err != nil {
		if len(v.patch.files) > 0 {
			return nil, fmt.Errorf("it does not apply beside those kept before it: %w", p.failed(err))
		}
		return nil, p.failed(err)
	}
	for _, file := range p.files {
		text, err := v.copyOf(file)
		if err != nil {
			return nil, err
		}
		alone.files[file] = contents{alone.files[file].old, text}
	}
	return alone, nil
}

// copyOf returns what the copy has of a file; nil for nothing.
func (v *verifier) copyOf(file string) ([]byte, error) {
	copied, _ := v.at(file)
	text, err := os.ReadFile(copied)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

var (
	failedHunk = regexp.MustCompile(`error: patch failed: (.+):(\d+)`)
	hunkHeader = regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@.*`)
)

// failed says which hunk of which file git could not apply.
func (p *diffFile) failed(err error) error {
	m := failedHunk.FindStringSubmatch(err.Error())
	if m == nil {
		return fmt.Errorf("%w; make it again from this source with git diff", err)
	}
	file, n := "", 0
	for line := range strings.Lines(string(p.text)) {
		line = strings.TrimRight(line, "\r\n")
		if rest, ok := strings.CutPrefix(line, "--- "); ok {
			file, n = rest, 0
		} else if h := hunkHeader.FindStringSubmatch(line); h != nil {
			if n++; h[1] == m[2] && strings.HasSuffix(file, "/"+m[1]) {
				return fmt.Errorf("hunk %d of %s does not apply: %s; make it again from this source with git diff", n, m[1], line)
			}
		}
	}
	return fmt.Errorf("%s:%s: a hunk does not apply; make it again from this source with git diff", m[1], m[2])
}

// changedLines returns the lines of old that are not in text, and those
// around what was put between two inside a declaration.
func changedLines(old, text []byte) (lines []int) {
	add := func(line int) {
		if line > 0 && line <= bytes.Count(old, []byte("\n")) && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	at, within := 0, false
	outside := false // of declarations, or in the place of other lines: what is put there
	for line := range strings.Lines(string(diff.Diff("old", old, "new", text))) {
		if h := hunkHeader.FindStringSubmatch(line); h != nil {
			at, _ = strconv.Atoi(h[1]) // digits
			within = true
			continue
		}
		switch {
		case !within:
		case line[0] == '-':
			if code := strings.TrimSpace(line[1:]); code != "" && !strings.HasPrefix(code, "//") {
				add(at)
				outside = true
			}
			at++
		case line[0] == '+' && strings.TrimSpace(line[1:]) != "":
			outside = outside || !strings.HasPrefix(line[1:], "\t")
			if !outside {
				add(at - 1)
				add(at)
			}
		case line[0] == ' ':
			at++
			outside = false
		}
	}
	slices.Sort(lines)
	return lines
}
