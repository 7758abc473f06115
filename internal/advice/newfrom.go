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

// NewFrom returns the findings that a git revision of the code did not have. The revision is laid
// over the repository and analyzed the same way.
//
// A finding is known if the revision has one of the same check for the same text in the same
// function; else for that text anywhere, because code moves and functions are renamed; else in the
// same function, because lines are reworded. Each finding of the revision accounts for one.
func NewFrom(ctx context.Context, c Config, rev string, findings []Finding) ([]Finding, error) {
	tmp, err := os.MkdirTemp("", "isobar-base-")
	if err != nil {
		return nil, fmt.Errorf("advise: new-from: %w", err)
	}
	defer os.RemoveAll(tmp)
	if tmp, err = resolved(tmp); err != nil {
		return nil, fmt.Errorf("advise: new-from: %w", err)
	}
	within, cancel := c.within(ctx, 1)
	defer cancel()
	base, err := atRevision(within, c, rev, tmp)
	if err != nil {
		return nil, fmt.Errorf("advise: new-from: %w", c.ended(ctx, err, "the revision was read"))
	}
	var known []Finding
	if len(base.Patterns) > 0 {
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
	return unknown(findings, known, base.overlay), nil
}

// atRevision returns the Config that analyzes the packages as of the revision: its
// files that differ, of those that git does not ignore, are laid over the repository.
// It has no patterns if the revision has none of the packages.
func atRevision(ctx context.Context, c Config, rev, tmp string) (base Config, err error) {
	if base.Dir, err = resolved(c.Dir); err != nil {
		return base, err
	}
	git := command{dir: base.Dir, env: []string{"GIT_INDEX_FILE=" + filepath.Join(tmp, "index")}}
	out, err := git.run(ctx, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return base, fmt.Errorf("%w; run it inside a git repository", err)
	}
	git.dir = filepath.FromSlash(strings.TrimSpace(string(out)))
	if out, err = git.run(ctx, "git", "rev-parse", "--verify", "--quiet", rev+"^{commit}"); err != nil {
		if ctx.Err() != nil {
			return base, ctx.Err()
		}
		return base, fmt.Errorf("git knows no revision %q; name a commit, a branch or a tag, and "+
			"fetch it first in a shallow clone", rev)
	}
	tree := filepath.Join(tmp, "tree")
	base.Checks, base.Limit, base.overlay = c.Checks, c.Limit, overlay{}
	for _, args := range [][]string{
		{"read-tree", strings.TrimSpace(string(out))},
		{"checkout-index", "--all", "--prefix=" + tree + "/"},
		{"diff", "--name-only", "--no-ext-diff", "-z"},
		{"ls-files", "--others", "--exclude-standard", "-z"},
	} {
		if out, err = git.run(ctx, "git", args...); err != nil {
			return base, err
		}
		for _, name := range strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }) {
			was := filepath.Join(tree, name)
			if info, err := os.Stat(was); errors.Is(err, fs.ErrNotExist) {
				base.overlay[filepath.Join(git.dir, name)] = ""
			} else if err == nil && info.Mode().IsRegular() {
				base.overlay[filepath.Join(git.dir, name)] = was
			}
		}
	}
	at, err := goEnv(ctx, base.Dir)
	if err != nil {
		return base, err
	}
	in, err := base.overlay.command(&at, tmp)
	if err != nil {
		return base, err
	}
	base.Env = in.env
	if rel, err := filepath.Rel(git.dir, base.Dir); err == nil {
		base.Patterns = present(c.Patterns, filepath.Join(tree, rel))
	}
	return base, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// present drops the patterns of directories that do not exist.
func present(patterns []string, dir string) (out []string) {
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	for _, p := range patterns {
		if exists(dir) && (p != "." && !strings.HasPrefix(p, "./") && !strings.HasPrefix(p, "../") ||
			exists(filepath.Join(dir, strings.TrimSuffix(p, "...")))) {
			out = append(out, p)
		}
	}
	return out
}

// unknown returns the findings that known does not account for.
func unknown(findings, known []Finding, over overlay) []Finding {
	src, was := texts{}, texts{}
	for name, actual := range over {
		was[name] = src.of(actual)
	}
	findings, known = append([]Finding{}, findings...), slices.Clone(known)
	for _, same := range []func(a, b *Finding) bool{
		func(a, b *Finding) bool {
			return a.Pkg == b.Pkg && a.Function == b.Function && src.flagged(a) == was.flagged(b)
		},
		func(a, b *Finding) bool { return src.flagged(a) == was.flagged(b) },
		func(a, b *Finding) bool { return a.Pkg == b.Pkg && a.Function == b.Function },
	} {
		findings = slices.DeleteFunc(findings, func(f Finding) bool {
			i := slices.IndexFunc(known, func(k Finding) bool { return k.Check == f.Check && same(&f, &k) })
			if i >= 0 {
				known = slices.Delete(known, i, i+1)
			}
			return i >= 0
		})
	}
	return findings
}
