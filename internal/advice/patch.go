package advice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// A Patch is a set of files to change, with their old and new contents.
type Patch struct {
	base  string // names in the text are relative to it
	files map[string]contents
	kept  fix   // edits of the fixes in it
	src   texts // files that fixes change, as first read
}

type contents struct{ old, new []byte } // nil if the file does not exist

// newPatch returns an empty patch for the repository that dir is in, or else for dir.
func newPatch(ctx context.Context, dir string) (*Patch, error) {
	base, err := resolved(dir)
	if err != nil {
		return nil, fmt.Errorf("advise: patch: %w", err)
	}
	if out, err := (command{dir: base}).run(ctx, "git", "rev-parse", "--show-toplevel"); err == nil {
		base = filepath.FromSlash(strings.TrimSpace(string(out)))
	} else if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return &Patch{base: base, files: map[string]contents{}, kept: fix{}, src: texts{}}, nil
}

// beyond returns what a fix changes in addition to the patch.
func (p *Patch) beyond(f fix) (*Patch, error) {
	alone := &Patch{base: p.base, files: map[string]contents{}}
	for name, changes := range f {
		src := p.src.of(name)
		if src.err != nil {
			return nil, src.err
		}
		text, err := edited(name, src.text, append(slices.Clone(p.kept[name]), changes...))
		if err != nil {
			return nil, err
		}
		was := src.text
		if c, ok := p.files[name]; ok {
			was = c.new
		}
		alone.files[name] = contents{was, text}
	}
	return alone, nil
}

// keep adds a fix, nil for a change by hand, and what it changes to the patch.
func (p *Patch) keep(f fix, alone *Patch) {
	for name, changes := range f {
		p.kept[name] = append(p.kept[name], changes...)
	}
	for name, c := range alone.files {
		original := c.old
		if was, ok := p.files[name]; ok {
			original = was.old
		}
		p.files[name] = contents{original, c.new}
	}
}

// PatchOf returns the patch of all fixes of the findings that fit together, without trying them.
func PatchOf(ctx context.Context, dir string, findings []Finding) (*Patch, error) {
	p, err := newPatch(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, f := range findings {
		alone, err := p.beyond(f.Edits)
		if _, unread := errors.AsType[*fs.PathError](err); unread {
			return nil, fmt.Errorf("advise: fix: %w", err)
		}
		if err == nil {
			p.keep(f.Edits, alone)
		}
	}
	return p, nil
}

// Files returns the absolute names of the files that the patch changes.
func (p *Patch) Files() []string { return slices.Sorted(maps.Keys(p.files)) }

// String returns the patch in the unified format that git apply reads.
func (p *Patch) String() string {
	var b bytes.Buffer
	for _, name := range p.Files() {
		rel, c := relative(p.base, name), p.files[name]
		from, to, mode := "a/"+rel, "b/"+rel, ""
		switch {
		case c.old == nil:
			from, mode = "/dev/null", "new file mode 100644\n"
		case c.new == nil:
			to, mode = "/dev/null", "deleted file mode 100644\n"
		}
		// the line that names both is not git's
		if _, body, ok := bytes.Cut(diff.Diff(from, c.old, to, c.new), []byte("\n")); ok {
			fmt.Fprintf(&b, "diff --git a/%s b/%s\n%s%s", rel, rel, mode, body)
		}
	}
	return b.String()
}

// Clean returns an error if git knows of uncommitted changes in the files.
func (p *Patch) Clean(ctx context.Context, files []string) error {
	if len(files) == 0 {
		return nil
	}
	out, err := command{dir: p.base}.run(ctx, "git", append([]string{"status", "--porcelain", "--"}, files...)...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return nil // not a repository: only what the files hold is compared
	}
	if text := strings.TrimRight(string(out), "\n"); text != "" {
		return fmt.Errorf("advise: write: files with fixes have changes that are not committed; commit or stash them "+
			"first:\n%s", text)
	}
	return nil
}

// Write changes the files, all of them or none, as git apply does.
func (p *Patch) Write(ctx context.Context) error {
	if len(p.files) == 0 {
		return nil
	}
	modes := map[string]fs.FileMode{}
	for _, name := range p.Files() {
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("advise: write: %w; nothing was changed", err)
		}
		modes[name] = info.Mode().Perm() // git knows only the executable bit
		if now, err := os.ReadFile(name); err != nil {
			return fmt.Errorf("advise: write: %w; nothing was changed", err)
		} else if !bytes.Equal(now, p.files[name].old) {
			return fmt.Errorf("advise: write: %s has changed since it was analyzed; nothing was changed, run it again", name)
		}
	}
	text, err := tempFile("", "isobar-patch-", []byte(p.String()))
	defer os.Remove(text)
	if err == nil {
		_, err = command{dir: p.base}.run(ctx, "git", "apply", "--whitespace=nowarn", text)
	}
	if err != nil {
		return fmt.Errorf("advise: write: %w; nothing was changed", err)
	}
	for name, mode := range modes {
		err = errors.Join(err, os.Chmod(name, mode))
	}
	return err
}
