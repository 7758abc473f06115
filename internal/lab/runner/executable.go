package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

const modulePath = "github.com/isobar-go/isobar"

// command is what Executable builds from source; a test builds a smaller one.
var command = "./cmd/isobar"

// experiments maps a collector, or Go's arenas, to its GOEXPERIMENT. Green Tea
// is the default since Go 1.26.
var experiments = map[string]string{"greentea": "greenteagc", "classic": "nogreenteagc", "goarenas": "arenas"}

// Executable returns the binary of a build. Its collector is "greentea",
// "classic", "goarenas" (Go's experimental arenas, with the default collector)
// or "" for the running binary's. If the running binary does not match,
// Executable builds one from this binary's source or the published module and
// keeps it in the user's cache directory. The go command downloads missing Go
// versions. Executable announces a build on log.
func Executable(ctx context.Context, build cell.Build, log io.Writer) (string, error) {
	if _, known := experiments[build.Collector]; !known && build.Collector != "" {
		return "", fmt.Errorf("runner: unknown collector %q: want greentea, classic or goarenas", build.Collector)
	}
	own, _ := goVersion(runtime.Version())
	if build.Go == "" {
		build.Go = strings.TrimPrefix(own, "go")
	} else if err := cell.CheckGo(build.Go); err != nil {
		return "", fmt.Errorf("runner: Go %w", err)
	}
	if "go"+build.Go == own && (build.Collector == "" || build.Collector == ownCollector()) {
		exe, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("runner: this program's own file: %w", err)
		}
		return exe, nil
	}
	exe, err := cached(ctx, build, log)
	if err != nil {
		return "", fmt.Errorf("runner: build %s: %w", build, err)
	}
	return exe, nil
}

func ownCollector() string {
	switch _, experiments := goVersion(runtime.Version()); {
	case strings.Contains(experiments, "nogreenteagc"):
		return "classic"
	case strings.Contains(experiments, "arenas"):
		return "goarenas"
	}
	return "greentea"
}

// cached returns the cached binary, or builds it.
func cached(ctx context.Context, build cell.Build, log io.Writer) (string, error) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return "", errors.New("no Go toolchain: install Go from https://go.dev/dl and add it to PATH")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: set HOME or XDG_CACHE_HOME", err)
	}
	dir, digest, err := source()
	if err != nil {
		return "", err
	}
	target := filepath.Join(cache, "isobar", "build", Binary(fmt.Sprintf("isobar-%s-%s", build, digest), runtime.GOOS))
	if _, err := os.Stat(target); err == nil {
		return target, nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(target), "building-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	fmt.Fprintf(log, "isobar: building %s (once)\n", build)
	cmd := exec.CommandContext(ctx, goTool, "build", "-buildvcs=false", "-o", work+string(filepath.Separator),
		command)
	cmd.Dir = dir
	cmd.Env = append(Toolchain(os.Environ(), build), "GOWORK=off")
	if dir == "" { // the published module
		cmd.Args = []string{goTool, "install", modulePath + "/cmd/isobar@" + digest}
		cmd.Env = append(cmd.Env, "GOBIN="+work)
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(output.String()))
	}
	// Renaming makes the binary appear whole, even if two labs build it at once.
	if err := os.Rename(filepath.Join(work, Binary("isobar", runtime.GOOS)), target); err != nil {
		return "", err
	}
	return target, nil
}

// Toolchain returns env with additions that select the build's toolchain and experiments.
func Toolchain(env []string, build cell.Build) []string {
	env = slices.Clip(env)
	if build.Collector != "" {
		env = append(env, "GOEXPERIMENT="+experiments[build.Collector])
	}
	if cell.CheckGo(build.Go) == nil { // a release
		env = append(env, "GOTOOLCHAIN=go"+build.Go)
	}
	return env
}

// Binary returns the file name of a program on an operating system.
func Binary(program, goos string) string {
	if goos == "windows" {
		return program + ".exe"
	}
	return program
}

// source returns the directory of the module that this binary was built from
// and a digest of its files. If the directory does not exist, dir is "" and
// digest is the module's published version.
func source() (dir, digest string, err error) {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		dir = filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(file)))) // of internal/lab/runner/executable.go
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module "+modulePath+"\n")) {
			digest, err := digestOf(os.DirFS(dir))
			return dir, digest, err
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == modulePath &&
		strings.HasPrefix(info.Main.Version, "v") && !strings.Contains(info.Main.Version, "+dirty") {
		return "", info.Main.Version, nil
	}
	return "", "", fmt.Errorf("this program knows neither its source directory nor its version: run it "+
		"from a checkout, or install it with go install %s/cmd/isobar@latest", modulePath)
}

// digestOf returns a digest of the files that can affect a build of cmd/isobar.
func digestOf(fsys fs.FS) (string, error) {
	hash := sha256.New()
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" || name == "bench" ||
				name == "docs") {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(hash, "%s\x00%d\x00", name, len(data))
		hash.Write(data)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("read the source: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}
