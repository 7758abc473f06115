package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/runner"
)

// buildProgram builds the program of a package for each build of the study, and
// returns the command with cell.BuildDir in place of the build. The binaries
// stay beside the store, so that the run can be resumed.
func (a *app) buildProgram(ctx context.Context, pkg string, study plan.Study, args []string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}} {{.Name}}", pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("lab run: go list %s: %w: name one package that builds here", pkg, withStderr(err))
	}
	where := strings.TrimSpace(string(out))
	if strings.Contains(where, "\n") || !strings.HasSuffix(where, " main") {
		return nil, usage(fmt.Errorf("lab run: --build %s: name one main package", pkg))
	}
	path, err := a.StorePath()
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, err
	}
	h := fnv.New64a()
	fmt.Fprint(h, where)
	root := filepath.Join(filepath.Dir(path), "built", fmt.Sprintf("%x", h.Sum64()))
	configs, err := study.Configs()
	if err != nil {
		return nil, usage(err)
	}
	name := "program"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	done := map[cell.Build]bool{}
	for _, c := range configs {
		if done[c.Build()] {
			continue
		}
		done[c.Build()] = true
		fmt.Fprintf(a.Err, "isobar: building %s (%s)\n", pkg, c.Build())
		cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(root, c.Build().String(), name), pkg)
		cmd.Env = runner.Toolchain(os.Environ(), c.Build())
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("lab run: go build %s (%s): %w: %s", pkg, c.Build(), err, strings.TrimSpace(string(out)))
		}
	}
	return append([]string{filepath.Join(root, cell.BuildDir, name)}, args...), nil
}
