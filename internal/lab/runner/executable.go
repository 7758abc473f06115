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
	"strings"
)

const modulePath = "github.com/isobar-go/isobar"

// experiments says which GOEXPERIMENT selects a collector, or adds Go's arenas.
// Green Tea is the default since Go 1.26.
var experiments = map[string]string{"greentea": "greenteagc", "classic": "nogreenteagc", "goarenas": "arenas"}

// Executable returns the binary that has the given collector: "greentea",
// "classic", "goarenas" (Go's experimental arenas, with the default collector)
// or "" for whichever the running binary has. Where that is built
// otherwise, it builds one with the Go toolchain of the same version, from the
// source that this binary was built from or the published module, and keeps it
// in the user's cache directory. It tells log before it builds.
func Executable(ctx context.Context, collector string, log io.Writer) (string, error) {
	experiment, known := experiments[collector]
	if !known && collector != "" {
		return "", fmt.Errorf("runner: unknown collector %q: want greentea, classic or goarenas", collector)
	}
	if collector == "" || collector == ownCollector() {
		exe, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("runner: this program's own file: %w", err)
		}
		return exe, nil
	}
	exe, err := build(ctx, collector, experiment, log)
	if err != nil {
		return "", fmt.Errorf("runner: build for the %s collector: %w", collector, err)
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

// build returns the cached binary, or builds it.
func build(ctx context.Context, collector, experiment string, log io.Writer) (string, error) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return "", errors.New("no Go toolchain: install it from https://go.dev/dl and put go into PATH")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: set HOME or XDG_CACHE_HOME", err)
	}
	version, _ := goVersion(runtime.Version())
	dir, digest, err := source()
	if err != nil {
		return "", err
	}
	target := filepath.Join(cache, "isobar", "build", fmt.Sprintf("isobar-%s-%s-%s", collector, version, digest)+exeSuffix())
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
	fmt.Fprintf(log, "isobar: building for the %s collector (once)\n", collector)
	cmd := exec.CommandContext(ctx, goTool, "build", "-buildvcs=false", "-o", work+string(filepath.Separator), "./cmd/isobar")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOEXPERIMENT="+experiment, "GOWORK=off")
	if dir == "" { // the published module
		cmd.Args = []string{goTool, "install", modulePath + "/cmd/isobar@" + digest}
		cmd.Env = append(cmd.Env, "GOBIN="+work)
	}
	if strings.HasPrefix(version, "go1") && !strings.Contains(version, " ") { // a release: another one would have another collector
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+version)
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(output.String()))
	}
	// Renaming makes the binary appear whole, also where two labs build it.
	if err := os.Rename(filepath.Join(work, "isobar"+exeSuffix()), target); err != nil {
		return "", err
	}
	return target, nil
}

func exeSuffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// source returns the directory of the module that this binary was built from
// and a digest of its files. Where the directory is not there, dir is "" and
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
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == modulePath && strings.HasPrefix(info.Main.Version, "v") && !strings.Contains(info.Main.Version, "+dirty") {
		return "", info.Main.Version, nil
	}
	return "", "", fmt.Errorf("neither the source that this program was built from nor its version is known: run it from a checkout, or install it with go install %s/cmd/isobar@latest", modulePath)
}

// digestOf is a digest of the files that a build of cmd/isobar may use.
func digestOf(fsys fs.FS) (string, error) {
	hash := sha256.New()
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" || name == "bench" || name == "docs") {
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
