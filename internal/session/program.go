package session

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/isobar-go/isobar/internal/fleet"
)

// putPrograms uploads a program: a file, for the platform it was built for, or
// a directory with a Go package, built for each --fleet-platform.
func (se *Session) putPrograms(ctx context.Context, f *fleet.Fleet, o *Fleet,
	name string) (map[string]fleet.Program, error) {
	files := map[string]string{}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		dir, err := os.MkdirTemp("", "isobar-programs-")
		if err != nil {
			return nil, fmt.Errorf("fleet: %w", err)
		}
		defer os.RemoveAll(dir)
		platforms := o.Platforms
		if len(platforms) == 0 {
			platforms = []string{runtime.GOOS + "/" + runtime.GOARCH}
		}
		for _, platform := range platforms {
			if files[platform], err = buildFor(ctx, name, dir, platform, se.Err); err != nil {
				return nil, err
			}
		}
	} else {
		file, err := exec.LookPath(name)
		if err != nil {
			return nil, fmt.Errorf("fleet: %w: name a program, or the directory of a Go package", err)
		}
		files[platformOf(file)] = file
	}
	programs := map[string]fleet.Program{}
	for platform, file := range files {
		p, err := f.PutProgram(ctx, file)
		if err != nil {
			return nil, err
		}
		programs[platform] = p
	}
	return programs, nil
}

// platformOf is the platform that a Go program was built for. Any other file
// counts as built for this machine.
func platformOf(file string) string {
	goos, goarch := runtime.GOOS, runtime.GOARCH
	if info, err := buildinfo.ReadFile(file); err == nil {
		for _, s := range info.Settings {
			switch s.Key {
			case "GOOS":
				goos = s.Value
			case "GOARCH":
				goarch = s.Value
			}
		}
	}
	return goos + "/" + goarch
}

// buildFor builds the Go package in a directory for a platform.
func buildFor(ctx context.Context, pkg, dir, platform string, log io.Writer) (string, error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok {
		return "", Misused(fmt.Errorf("--fleet-platform %q: want OS/ARCH, such as linux/arm64", platform))
	}
	target := filepath.Join(dir, goos+"-"+goarch)
	fmt.Fprintf(log, "isobar: building %s for %s\n", pkg, platform)
	env := append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	if err := goCommand(ctx, pkg, env, "build", "-o", target, "."); err != nil {
		return "", fmt.Errorf("fleet: build %s for %s: %w", pkg, platform, err)
	}
	return target, nil
}
