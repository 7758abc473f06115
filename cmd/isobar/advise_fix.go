package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/isobar-go/isobar/internal/advice"
	"github.com/isobar-go/isobar/internal/base/atomicfile"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/session"
	"github.com/isobar-go/isobar/internal/show/text"
)

// proofFlags adds the flags that measure, fix and gate.
func (o *adviseOptions) proofFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Bench, "bench", "", "run the benchmarks that match `REGEX` under profiles and join these; with "+
		"--verify, only they judge fixes")
	f.BoolVar(&o.fix, "fix", false, "print the fixes as a patch")
	f.BoolVar(&o.Prove, "verify", false, "with --fix or --patch: keep only what passes tests and saves allocations in "+
		"benchmarks, tried one by one beside your files")
	f.BoolVar(&o.write, "write", false, "with --fix: apply the patch to the files, all of it or nothing")
	f.StringArrayVar(&o.patches, "patch", nil, "with --verify: try the patch in `FILE`, a fix made by hand, instead of "+
		"looking for findings; may be repeated")
	f.StringVar(&o.output, "output", "", "with --fix or --patch: write the patch of what is kept to `FILE`")
	f.BoolVar(&o.Race, "race", true, "with --verify: run the tests under the race detector")
	f.DurationVar(&o.Budget, "budget", 20*time.Minute, "end all builds, benchmarks and tests after this time; what "+
		"is not measured by then is named, and fixes not decided are unproven; 0 for no end")
	f.IntVar(&o.Blocks, "blocks", 6, "with --verify: interleaved repetitions of each benchmark, at least 4; four where "+
		"the counts never vary, up to four times as many for a close call")
	f.StringVar(&o.BenchTime, "benchtime", "100ms", "with --verify: about how long a repetition takes, or how many "+
		"iterations it has, such as 100x")
	f.IntVar(&o.top, "top", 0, "with --fix: take only the first so many fixes; 0 for all")
	f.StringVar(&o.newFrom, "new-from", "", "show and gate only findings that the git `REVISION` did not have")
	f.StringVar(&o.html, "html", "", "write a page with findings, code and figures to `FILE`")
	f.BoolVar(&o.save, "save", false, "keep that page in the store, where 'isobar ui' shows the newest")
}

// check rejects wrong flags before anything runs.
func (o *adviseOptions) check() error {
	_, err := regexp.Compile(o.Bench)
	switch {
	case o.json && o.sarif:
		return errors.New("--json and --sarif: choose one")
	case err != nil:
		return fmt.Errorf("--bench: %w", err)
	case o.fix && len(o.patches) > 0:
		return errors.New("--fix and --patch: choose one; --patch tries a patch that is there, --output FILE says " +
			"where --fix writes its own")
	case len(o.patches) > 0 && !o.Prove:
		return errors.New("--patch needs --verify; to apply a patch as it is, use git apply")
	case len(o.patches) > 0 && (o.write || o.newFrom != "" || o.top > 0):
		return errors.New("--patch looks for no findings and changes no files: leave out --write, --new-from " +
			"and --top")
	case !o.fix && len(o.patches) == 0 && (o.Prove || o.write || o.output != ""):
		return errors.New("--verify, --write and --output need --fix, or --verify --patch FILE")
	case o.Budget < 0:
		return fmt.Errorf("--budget %v: want a time, or 0 for no end", o.Budget)
	case o.Blocks < 4:
		return fmt.Errorf("--blocks %d: fewer than 4 pairs allow no verdict", o.Blocks)
	case len(o.patches) > 0 && (o.sarif || o.gate || len(o.Profiles)+len(o.checks) > 0):
		return errors.New("--patch looks for no findings: leave out --sarif, --gate, --profile and --check")
	}
	for flag, file := range map[string]string{"output": o.output, "html": o.html} {
		if file != "" {
			if err := atomicfile.Check(file); err != nil {
				return fmt.Errorf("--%s: %w", flag, err)
			}
		}
	}
	return nil
}

// judgePatches tries the patches that --patch names, and returns each as a finding.
func judgePatches(ctx context.Context, o *adviseOptions) (*advice.Result, error) {
	v, err := advice.Verify(ctx, o.Config, nil, o.patches...)
	if err != nil {
		return nil, err
	}
	r := &advice.Result{Findings: []advice.Finding{}, Verification: v}
	for _, f := range v.Fixes {
		r.Findings = append(r.Findings, f.Finding)
	}
	return r, o.keepPatch(v)
}

// keepPatch writes the patch to the file of --output, if given.
func (o *adviseOptions) keepPatch(v *advice.Verification) error {
	if o.output == "" {
		return nil
	}
	return atomicfile.Bytes(o.output, 0o644, []byte(v.Text))
}

// profiled runs the benchmarks under profiles if --bench is given. forget removes the profiles.
func profiled(ctx context.Context, c *advice.Config) (forget func(), err error) {
	if c.Bench == "" {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "isobar-profiles-")
	if err != nil {
		return nil, err
	}
	names, leftOut, err := advice.Profile(ctx, *c, c.Bench, dir, c.Progress)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c.Profiles = append(c.Profiles, names...)
	c.LeftOut = leftOut
	return func() { os.RemoveAll(dir) }, nil
}

// repair makes the patch, verifies it if asked to, and writes it where the flags say.
func repair(ctx context.Context, o *adviseOptions, r *advice.Result, shown []advice.Finding) error {
	if o.top > 0 {
		shown = slices.DeleteFunc(slices.Clone(shown), func(f advice.Finding) bool { return !f.Fix })
		shown = shown[:min(o.top, len(shown))]
	}
	all, err := advice.PatchOf(ctx, o.Dir, shown)
	if err != nil {
		return err
	}
	if o.write {
		if err := all.Clean(ctx, all.Files()); err != nil {
			return err
		}
	}
	r.Verification = &advice.Verification{Patch: all, Text: all.String()}
	if o.Prove {
		if r.Verification, err = advice.Verify(ctx, o.Config, shown); err != nil {
			return err
		}
	}
	if err := o.keepPatch(r.Verification); err != nil {
		return err
	}
	if !o.write || ctx.Err() != nil {
		return ctx.Err()
	}
	patch := r.Verification.Patch
	if err := patch.Clean(ctx, patch.Files()); err != nil {
		return err
	}
	return patch.Write(ctx)
}

// printFixes prints the result of --fix: the outcome of each fix, and the patch unless it
// was written elsewhere.
func (a *app) printFixes(o *adviseOptions, v *advice.Verification) error {
	var b strings.Builder
	for _, f := range v.Fixes {
		what := f.Finding.Check
		if s := f.Finding.Share; s != nil {
			what += fmt.Sprintf(" [%.1f %% of objects]", 100*s.Objects)
		}
		if len(o.patches) > 0 {
			what += " " + f.Finding.Message
		}
		fmt.Fprintf(&b, "%-8s  %s:%d %s\n          %s\n", f.Outcome, f.Finding.File, f.Finding.Line, what,
			strings.ReplaceAll(f.Reason, "\n", "\n          "))
	}
	if o.Prove {
		fmt.Fprintf(&b, "%d kept, %d dropped, %d unproven\n", v.Count(advice.Kept), v.Count(advice.Dropped),
			v.Count(advice.Unproven))
	}
	changed := text.Plural(len(v.Patch.Files()), "file")
	switch {
	case o.write:
		fmt.Fprintf(&b, "%s changed\n", changed)
	case o.output != "":
		fmt.Fprintf(&b, "the patch of %s is in %s\n", changed, o.output)
	case len(o.patches) > 0: // the user has them
	case v.Text != "":
		fmt.Fprintf(&b, "\n%s", v.Text)
	default:
		b.WriteString("no fix to apply\n")
	}
	_, err := fmt.Fprint(a.Out, b.String())
	return err
}

// keepPage makes the HTML page and stores or writes it as the flags say. The file is
// replaced atomically, so that an existing page is never left half written.
func (a *app) keepPage(o *adviseOptions, r *advice.Result, shown []advice.Finding) error {
	if o.html == "" && !o.save {
		return nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	meta := advice.PageMeta{Name: filepath.Base(dir),
		Repeat:  "isobar " + strings.Join(session.Args(), " "),
		Version: host.Version(), Dir: dir}
	if err := advice.Page(&b, meta, o.Checks, r, shown); err != nil {
		return err
	}
	if o.save {
		if err := a.saveAdvice(store.Advice{Created: time.Now(), Name: meta.Name, Page: b.Bytes()}); err != nil {
			return err
		}
	}
	if o.html == "" {
		return nil
	}
	return atomicfile.Bytes(o.html, 0o644, b.Bytes())
}

func (a *app) saveAdvice(page store.Advice) error {
	s, _, err := a.Open()
	if err != nil {
		return err
	}
	_, err = s.SaveAdvice(page)
	return errors.Join(err, s.Close())
}
