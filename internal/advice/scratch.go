package advice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A scratch is a module, or a workspace, as a revision has it, in a directory for
// temporary files. Nothing that happens there reaches the original.
type scratch struct {
	command        // runs in the copy of the directory that was asked for
	root    string // of the original
	copied  string // root's copy
}

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

// A module is what the go command says of where it runs.
type module struct {
	GOMOD, GOWORK, GOFLAGS string
	root, work             string // its directory, or the workspace's, and the file of that; "" for none
}

func goEnv(ctx context.Context, dir string) (m module, err error) {
	out, err := command{dir: dir}.run(ctx, "go", "env", "-json", "GOMOD", "GOWORK", "GOFLAGS")
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(out, &m); err != nil {
		return m, fmt.Errorf("advise: go env: %w", err)
	}
	switch {
	case m.GOWORK != "" && m.GOWORK != "off":
		m.root, m.work = filepath.Dir(m.GOWORK), m.GOWORK
	case m.GOMOD == "" || m.GOMOD == os.DevNull:
		return m, errors.New("advise: copy: no module here; run it inside a module")
	default:
		m.root = filepath.Dir(m.GOMOD)
	}
	if !within(dir, m.root) {
		return m, fmt.Errorf("advise: copy: %s is not below its workspace %s; set GOWORK=off, or move the go.work "+
			"file above both", dir, m.GOWORK)
	}
	return m, nil
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
