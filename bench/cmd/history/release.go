package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// patience is how long a command may take.
const patience = 10 * time.Minute

// output runs a command in a directory and returns what it prints. Its error has the
// end of what went to standard error.
func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environment(), time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		text := strings.TrimSpace(stderr.String())
		err = fmt.Errorf("%s %s: %w: %s", filepath.Base(name), args[0], err, text[max(0, len(text)-1500):])
	}
	return out, err
}

func environment() []string {
	return append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off", "GOTOOLCHAIN=local")
}

// release returns the directory of a writable copy of a release.
func (r *runner) release(ctx context.Context, module, version string) (string, error) {
	dir := filepath.Join(r.dir, "releases", filepath.FromSlash(module)+"@"+version)
	done := filepath.Join(dir, ".copied")
	if _, err := os.Stat(done); err == nil {
		return dir, nil
	}
	out, err := output(ctx, r.dir, "go", "mod", "download", "-json", module+"@"+version)
	var of struct{ Dir, Error string }
	if e := json.Unmarshal(out, &of); e == nil && of.Error != "" {
		err = errors.New(of.Error)
	}
	if err != nil {
		return "", fmt.Errorf("download: %w", err)
	}
	if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(of.Dir))); err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		if _, err := output(ctx, dir, "go", "mod", "init", module); err != nil {
			return "", err
		}
	}
	if err := alone(ctx, dir); err != nil {
		return "", err
	}
	return dir, os.WriteFile(done, nil, 0o644)
}

// alone drops the replacements of modules by directories.
func alone(ctx context.Context, dir string) error {
	out, err := output(ctx, dir, "go", "mod", "edit", "-json")
	if err != nil {
		return err
	}
	type version struct{ Path, Version string }
	var mod struct{ Replace []struct{ Old, New version } }
	if err := json.Unmarshal(out, &mod); err != nil {
		return err
	}
	for _, r := range mod.Replace {
		if r.New.Version != "" {
			continue
		}
		old := r.Old.Path
		if r.Old.Version != "" {
			old += "@" + r.Old.Version
		}
		if _, err := output(ctx, dir, "go", "mod", "edit", "-dropreplace="+old); err != nil {
			return err
		}
	}
	return nil
}

// judge asks advise about the line of a side. It writes NAME.pb.gz, NAME.json and
// NAME.txt.
func (r *runner) judge(ctx context.Context, f *fix, side, name string) (one result, err error) {
	version, line := f.on(side)
	dir, err := r.release(ctx, f.Module, version)
	if err != nil {
		return one, err
	}
	source, err := os.ReadFile(filepath.Join(dir, f.File))
	if err != nil {
		return one, err
	}
	lines := strings.Split(string(source), "\n")
	if line > len(lines) {
		return one, fmt.Errorf("%s has %d lines", f.File, len(lines))
	}
	one.Source = strings.TrimSpace(lines[line-1])
	pattern := "./" + filepath.ToSlash(filepath.Dir(f.File))
	c, err := load(ctx, dir, pattern, filepath.Join(dir, f.File), line)
	if err != nil {
		return one, err
	}
	samples, err := c.samples(ctx, dir, f.Call, side == "after")
	if err != nil {
		return one, err
	}
	one.Profile = strings.Join(c.said, "; ")
	p, err := c.profile(samples)
	if err != nil {
		return one, err
	}
	out, err := os.Create(name + ".pb.gz")
	if err != nil {
		return one, err
	}
	if err := errors.Join(p.Write(out), out.Close()); err != nil {
		return one, err
	}
	for _, form := range []struct{ name, flag string }{{".json", "--json=true"}, {".txt", "--json=false"}} {
		text, err := output(ctx, dir, r.isobar, "advise", "--profile", name+".pb.gz", form.flag, pattern)
		if err != nil {
			return one, err
		}
		if err := os.WriteFile(name+form.name, text, 0o644); err != nil {
			return one, err
		}
		one.Text = about(string(text), f.File, line)
	}
	return one, nil
}

var (
	finding = regexp.MustCompile(`^(\S+\.go:\d+):\d+: \w+ \w+: .*`)
	totals  = regexp.MustCompile(`(?ms)^(findings of the checks|where the memory is made), .*?:\n|^no line of these .*`)
)

// about returns what a report says about the line, which alone has samples: findings with
// a share or on the line, and what the account has.
func about(text, file string, line int) string {
	var kept []string
	for l := range strings.Lines(totals.ReplaceAllString(text, "")) {
		m := finding.FindStringSubmatch(l)
		if m == nil || !strings.Contains(l, "[no sample]") || m[1] == fmt.Sprintf("%s:%d", file, line) {
			kept = append(kept, l)
		}
	}
	return strings.TrimSpace(strings.ReplaceAll(strings.Join(kept, ""), "\n\n\n", "\n\n"))
}
