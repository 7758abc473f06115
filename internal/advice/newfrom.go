package advice

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// NewFrom returns the findings that the code of a git revision did not have.
// The revision is checked out beside the repository and analyzed the same way.
//
// A finding is known where the revision has one of the same check for the same
// text in the same function; else anywhere, because code moves and functions
// are renamed; else in the same function, because lines are reworded. Each
// finding of the revision accounts for one.
func NewFrom(ctx context.Context, c Config, rev string, findings []Finding) ([]Finding, error) {
	tmp, err := os.MkdirTemp("", "isobar-base-")
	if err != nil {
		return nil, fmt.Errorf("advise: new-from: %w", err)
	}
	defer os.RemoveAll(tmp)
	if tmp, err = resolved(tmp); err != nil {
		return nil, fmt.Errorf("advise: new-from: %w", err)
	}
	base, ok, err := atRevision(ctx, c, rev, tmp)
	if err != nil {
		return nil, err
	}
	var known []Finding
	if ok {
		r, err := Run(ctx, base)
		if err != nil {
			return nil, fmt.Errorf("%w; --new-from needs a revision that compiles, %s does not", err, rev)
		}
		for _, was := range r.Skipped {
			if slices.ContainsFunc(findings, func(f Finding) bool { return f.Pkg == was.Package }) {
				return nil, fmt.Errorf("advise: new-from: %s: %s; %s has findings now, and what it had in %s is not known: name "+
					"a revision where it compiles", was.Package, was.Reason, was.Package, rev)
			}
		}
		known = r.Findings
	}
	return unknown(findings, known), nil
}

// atRevision checks the revision out and returns the Config that analyzes it.
// ok is false where it has nothing of what is analyzed.
func atRevision(ctx context.Context, c Config, rev, tmp string) (base Config, ok bool, err error) {
	dir, err := resolved(c.Dir)
	if err != nil {
		return base, false, fmt.Errorf("advise: new-from: %w", err)
	}
	git := command{dir: dir, env: []string{"GIT_INDEX_FILE=" + filepath.Join(tmp, "index")}}
	out, err := git.run(ctx, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return base, false, fmt.Errorf("advise: new-from: %w; run it inside a git repository", err)
	}
	git.dir = filepath.FromSlash(strings.TrimSpace(string(out)))
	if out, err = git.run(ctx, "git", "rev-parse", "--verify", "--quiet", rev+"^{commit}"); err != nil {
		if ctx.Err() != nil {
			return base, false, ctx.Err()
		}
		return base, false, fmt.Errorf("advise: new-from: git knows no revision %q; name a commit, a branch or a tag, and "+
			"fetch it first in a shallow clone", rev)
	}
	s := &scratch{root: git.dir, copied: filepath.Join(tmp, "tree")}
	for _, args := range [][]string{{"read-tree", strings.TrimSpace(string(out))},
		{"checkout-index", "--all", "--prefix=" + s.copied + "/"}} {
		if _, err := git.run(ctx, "git", args...); err != nil {
			return base, false, fmt.Errorf("advise: new-from: %w", err)
		}
	}
	in, err := goEnv(ctx, dir)
	if err != nil {
		return base, false, err
	}
	root, work := in.root, in.work
	copied, inside := s.at(root)
	if !inside {
		return base, false, fmt.Errorf("advise: new-from: the module %s is outside the repository %s; run it inside the "+
			"module's repository", root, git.dir)
	}
	if work != "" && !exists(filepath.Join(copied, filepath.Base(work))) {
		work, root = "", moduleOf(dir)
		copied, _ = s.at(root)
	}
	base = Config{Checks: c.Checks}
	base.Dir, _ = s.at(dir)
	if base.Patterns = present(c.Patterns, base.Dir); len(base.Patterns) == 0 || !exists(base.Dir) || !exists(copied) {
		return base, false, nil
	}
	if err := s.enter(ctx, dir, root, work); err != nil {
		return base, false, fmt.Errorf("advise: new-from: %w", err)
	}
	base.Env = s.env
	return base, true, nil
}

// moduleOf returns the nearest directory above that has a go.mod.
func moduleOf(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if exists(filepath.Join(at, "go.mod")) || at == filepath.Dir(at) {
			return at
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// present drops the patterns of directories that are not there.
func present(patterns []string, dir string) (out []string) {
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	for _, p := range patterns {
		if p != "." && !strings.HasPrefix(p, "./") && !strings.HasPrefix(p, "../") ||
			exists(filepath.Join(dir, strings.TrimSuffix(p, "..."))) {
			out = append(out, p)
		}
	}
	return out
}

// unknown returns the findings that none of known accounts for.
func unknown(findings, known []Finding) []Finding {
	src := texts{}
	used := make([]bool, len(known))
	found := make([]bool, len(findings))
	for _, same := range []func(a, b *Finding) bool{
		func(a, b *Finding) bool {
			return a.Pkg == b.Pkg && a.Function == b.Function && src.flagged(a) == src.flagged(b)
		},
		func(a, b *Finding) bool { return src.flagged(a) == src.flagged(b) },
		func(a, b *Finding) bool { return a.Pkg == b.Pkg && a.Function == b.Function },
	} {
		for i := range findings {
			f := &findings[i]
			for j := range known {
				k := &known[j]
				if found[i] || used[j] || k.Check != f.Check || !same(f, k) {
					continue
				}
				found[i], used[j] = true, true
			}
		}
	}
	out := []Finding{}
	for i, f := range findings {
		if !found[i] {
			out = append(out, f)
		}
	}
	return out
}
