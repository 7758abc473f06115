package advice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A scratch is a copy of a module, or of a workspace, in a directory for
// temporary files. Nothing that happens there reaches the original.
type scratch struct {
	command        // runs in the copy of the directory that was asked for
	tmp     string // everything, removed at the end
	root    string // of the original
	copied  string // root's copy
}

// newScratch copies the module or workspace that dir belongs to. Relative
// replacements and uses that lead out of it are made absolute.
func newScratch(ctx context.Context, dir string) (*scratch, error) {
	abs, err := resolved(dir)
	if err != nil {
		return nil, fmt.Errorf("advise: copy: %w", err)
	}
	root, work, err := moduleRoot(ctx, abs)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "isobar-verify-")
	if err != nil {
		return nil, fmt.Errorf("advise: copy: %w", err)
	}
	if tmp, err = resolved(tmp); err != nil {
		return nil, fmt.Errorf("advise: copy: %w", err)
	}
	s := &scratch{tmp: tmp, root: root, copied: filepath.Join(tmp, "tree")}
	if err := copyTree(ctx, root, s.copied); err != nil {
		s.remove()
		return nil, fmt.Errorf("advise: copy: %w", err)
	}
	if err := s.enter(ctx, abs, root, work); err != nil {
		s.remove()
		return nil, fmt.Errorf("advise: copy: %w", err)
	}
	return s, nil
}

func (s *scratch) remove() { os.RemoveAll(s.tmp) }

// at returns where the copy of a file of the original is. ok is false for
// files outside.
func (s *scratch) at(name string) (string, bool) { return moved(name, s.root, s.copied) }

// moved returns the name below to that name has below from.
func moved(name, from, to string) (string, bool) {
	rel, err := filepath.Rel(from, name)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.Join(to, rel), true
}

// resolved is the absolute name of a directory without symbolic links, as the
// go command prints it.
func resolved(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// moduleRoot returns the directory to copy, and the workspace file, "" for
// none.
func moduleRoot(ctx context.Context, dir string) (root, work string, err error) {
	out, err := command{dir: dir}.run(ctx, "go", "env", "-json", "GOMOD", "GOWORK")
	if err != nil {
		return "", "", err
	}
	var env struct{ GOMOD, GOWORK string }
	if err := json.Unmarshal(out, &env); err != nil {
		return "", "", fmt.Errorf("advise: go env: %w", err)
	}
	switch {
	case env.GOWORK != "" && env.GOWORK != "off":
		root = filepath.Dir(env.GOWORK)
		if _, ok := moved(dir, root, "/"); !ok {
			return "", "", fmt.Errorf("advise: copy: %s is not below its workspace %s; set GOWORK=off, or move the go.work "+
				"file above both", dir, env.GOWORK)
		}
		return root, env.GOWORK, nil
	case env.GOMOD == "" || env.GOMOD == os.DevNull:
		return "", "", errors.New("advise: copy: no module here; run it inside a module")
	}
	return filepath.Dir(env.GOMOD), "", nil
}

// enter prepares the copy of the module or workspace at root: the directory to
// run in, and paths that lead out.
func (s *scratch) enter(ctx context.Context, dir, root, work string) error {
	s.dir, _ = s.at(dir)
	s.env = []string{"GOWORK=off", "PWD=" + s.dir}
	if work == "" {
		return s.absolute(ctx, "mod", root)
	}
	copied, _ := s.at(work)
	s.env[0] = "GOWORK=" + copied
	if err := s.absolute(ctx, "work", root); err != nil {
		return err
	}
	uses, err := s.edits(ctx, "work", root)
	if err != nil {
		return err
	}
	for _, u := range uses.Use {
		if filepath.IsAbs(u.DiskPath) {
			continue
		}
		if err := s.absolute(ctx, "mod", filepath.Join(root, u.DiskPath)); err != nil {
			return err
		}
	}
	return nil
}

// A modfile is the part of 'go mod edit -json' and 'go work edit -json' that
// names directories.
type modfile struct {
	Use     []struct{ DiskPath string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

func (s *scratch) edits(ctx context.Context, kind, dir string) (m modfile, err error) {
	copied, ok := s.at(dir)
	if !ok {
		return m, nil
	}
	out, err := command{copied, s.env}.run(ctx, "go", kind, "edit", "-json")
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(out, &m)
}

// absolute makes the relative paths of a go.mod or go.work absolute that lead
// out of the copy.
func (s *scratch) absolute(ctx context.Context, kind, dir string) error {
	m, err := s.edits(ctx, kind, dir)
	if err != nil {
		return err
	}
	args := []string{kind, "edit"}
	outside := func(path string) (string, bool) {
		if path == "" || filepath.IsAbs(path) || !strings.HasPrefix(path, ".") {
			return "", false
		}
		abs := filepath.Join(dir, path)
		_, in := s.at(abs)
		return abs, !in
	}
	for _, r := range m.Replace {
		if abs, out := outside(r.New.Path); out && r.New.Version == "" {
			old := r.Old.Path
			if r.Old.Version != "" {
				old += "@" + r.Old.Version
			}
			args = append(args, "-replace="+old+"="+abs)
		}
	}
	for _, u := range m.Use {
		if abs, out := outside(u.DiskPath); out {
			args = append(args, "-dropuse="+u.DiskPath, "-use="+abs)
		}
	}
	if len(args) == 2 {
		return nil
	}
	copied, _ := s.at(dir)
	_, err = command{copied, s.env}.run(ctx, "go", args...)
	return err
}

// copyTree copies files, directories and symbolic links, and leaves out what
// no build reads: .git and node_modules.
func copyTree(ctx context.Context, from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		target, _ := moved(name, from, to)
		switch {
		case d.Name() == ".git" || d.Name() == "node_modules":
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			return copyLink(name, target, from)
		case d.Type().IsRegular():
			return copyFile(name, target)
		}
		return nil
	})
}

// copyLink keeps a link that stays inside root relative and makes one that
// leads out absolute.
func copyLink(name, target, root string) error {
	to, err := os.Readlink(name)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(to) {
		abs := filepath.Join(filepath.Dir(name), to)
		if _, in := moved(abs, root, "/"); !in {
			to = abs
		}
	}
	return os.Symlink(to, target)
}

func copyFile(name, target string) error {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
