package advice

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/advise/check"
)

// A diffFile is a patch on disk.
type diffFile struct {
	name  string   // absolute
	base  string   // that the names in it are relative to
	files []string // that it changes, absolute
}

// byHand reads a patch, and returns the remedy with what it changes.
func (v *verifier) byHand(ctx context.Context, name string) (*remedy, error) {
	p, err := v.readPatch(ctx, name)
	if err != nil {
		return nil, err
	}
	alone, err := v.gitApply(ctx, p)
	if err != nil {
		return nil, err
	}
	m := &remedy{seen: map[judge]seen{}, make: func(ctx context.Context) (*Patch, error) { return v.gitApply(ctx, p) }}
	for _, file := range alone.Files() {
		c := alone.files[file]
		if filepath.Ext(file) != ".go" || c.old == nil {
			continue
		}
		pkgs, err := v.testPackages(ctx, []string{filepath.Dir(file)})
		if err != nil {
			return nil, fmt.Errorf("%s is in no package of this build: %w", relative(v.patch.base, file), err)
		}
		pkg := pkgs[0].ImportPath
		if !slices.Contains(m.pkgs, pkg) {
			m.pkgs = append(m.pkgs, pkg)
		}
		names, line := changed(c.old, c.new)
		m.functions = append(m.functions, names...)
		if m.finding.File == "" {
			m.finding = Finding{File: relative(v.at.dir, file), Line: line, Column: 1, EndLine: line, Check: "patch",
				Severity: check.Advice.String(), Message: name, Fix: true, Pkg: pkg,
				Spans: []span{{File: file, From: line, To: line, Column: 1}}}
		}
	}
	if m.finding.File == "" {
		return nil, errors.New("it changes no Go code that is there; nothing could be measured")
	}
	return m, nil
}

// changed returns the functions of old that text changes or lacks, and the first line
// that differs in one of them, or else in the file.
func changed(old, text []byte) (names []string, first int) {
	was, is := functionsOf(old), functionsOf(text)
	for _, f := range was {
		i := slices.IndexFunc(is, func(g functionText) bool { return g.name == f.name })
		if i >= 0 && is[i].text == f.text {
			continue
		}
		names = append(names, f.name)
		if first == 0 && i >= 0 {
			first = f.line + equalLines(f.text, is[i].text)
		}
	}
	if first == 0 {
		first = 1 + equalLines(string(old), string(text))
	}
	return names, first
}

type functionText struct {
	name, text string
	line       int
}

// functionsOf returns the functions that a file declares, named as in a Finding.
func functionsOf(src []byte) (all []functionText) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil // it does not build
	}
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := fn.Name.Name
		if fn.Recv != nil && len(fn.Recv.List) == 1 {
			of, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*"), "[")
			name = of + "." + name
		}
		from, to := fset.Position(fn.Pos()), fset.Position(fn.End())
		all = append(all, functionText{name, string(src[from.Offset:to.Offset]), from.Line})
	}
	return all
}

// equalLines returns the number of equal lines at the beginning of two texts.
func equalLines(a, b string) (n int) {
	was, is := strings.Split(a, "\n"), strings.Split(b, "\n")
	for n < min(len(was)-1, len(is)-1) && was[n] == is[n] {
		n++
	}
	return n
}

// readPatch finds which files a patch changes, and refuses patches that cannot be proven.
func (v *verifier) readPatch(ctx context.Context, name string) (*diffFile, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	p := &diffFile{name: abs}
	text, err := os.ReadFile(abs)
	if err != nil {
		return nil, err
	}
	if line := renames.Find(text); line != nil {
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
	p.base = v.basis(rels)
	for _, rel := range rels {
		file := filepath.Join(p.base, rel)
		switch {
		case !within(file, v.at.root):
			return nil, fmt.Errorf("%s is outside the module at %s; a patch is proven in the one module that it changes", file,
				v.at.root)
		case strings.HasSuffix(rel, "_test.go") || slices.Contains(strings.Split(filepath.ToSlash(rel), "/"), "testdata"):
			return nil, fmt.Errorf("%s is part of the tests, which have to stay the same on both sides; make that change "+
				"first, and the patch without it", rel)
		}
		p.files = append(p.files, file)
	}
	return p, nil
}

// renames matches the lines of a patch that rename or copy a file.
var renames = regexp.MustCompile(`(?m)^(rename|copy) (from|to) .*$`)

// basis returns the directory that the names in a patch are relative to: the
// repository, or else the requested directory if it has the files.
func (v *verifier) basis(rels []string) string {
	for _, base := range []string{v.patch.base, v.at.dir} {
		if slices.ContainsFunc(rels, func(rel string) bool { return exists(filepath.Join(base, rel)) }) {
			return base
		}
	}
	return v.patch.base
}

// git runs git as if the directory were in no repository.
func (v *verifier) git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return command{dir, []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(v.tmp), "LC_ALL=C"}}.run(ctx, "git", args...)
}

// gitApply applies a patch beside the kept ones, in a copy of the files, completely or
// not at all, and returns what it changed.
func (v *verifier) gitApply(ctx context.Context, p *diffFile) (*Patch, error) {
	dir, err := os.MkdirTemp(v.tmp, "apply-")
	if err != nil {
		return nil, err
	}
	alone := &Patch{base: v.patch.base, files: map[string]contents{}}
	copied := func(file string) string { return filepath.Join(dir, relative(p.base, file)) }
	for _, file := range p.files {
		text, err := textOf(file)
		if c, kept := v.patch.files[file]; kept {
			text, err = c.new, nil
		}
		if err == nil && text != nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(copied(file)), 0o700), os.WriteFile(copied(file), text, 0o600))
		}
		if err != nil {
			return nil, err
		}
		alone.files[file] = contents{old: text}
	}
	if _, err := v.git(ctx, dir, "apply", "--whitespace=nowarn", p.name); err != nil {
		if len(v.patch.files) > 0 {
			err = fmt.Errorf("it does not apply beside those kept before it: %w", err)
		}
		return nil, fmt.Errorf("%w; make it again from this source with git diff", err)
	}
	for _, file := range p.files {
		text, err := textOf(copied(file))
		if err != nil {
			return nil, err
		}
		alone.files[file] = contents{alone.files[file].old, text}
	}
	return alone, nil
}

// textOf returns the contents of a file, or nil if it does not exist.
func textOf(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
