package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/isobar-go/isobar/internal/base/atomicfile"
	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/runner"
)

// CellRunner returns a function that makes runners of cells under the given account.
func CellRunner(dir string, account *runner.Account, log io.Writer) func(string) fleet.Runner {
	var executable func(context.Context, cell.Build) (string, error)
	if account != nil {
		executable = readableExecutable(dir, log)
	}
	return func(dir string) fleet.Runner {
		return runner.New(runner.Config{Dir: dir, Env: workerEnv(dir), Account: account, Executable: executable, Log: log})
	}
}

// CanRun starts a child that does nothing, and returns why that fails.
func CanRun(ctx context.Context, r fleet.Runner) error {
	_, _, err := r.Run(ctx, cell.Cell{Timeout: time.Minute})
	return err
}

// WorkerAccount looks up the user who runs the cells.
func WorkerAccount(name string, allow []string) (*runner.Account, error) {
	root := os.Geteuid() == 0
	if name == "" {
		if root && slices.Contains(allow, fleet.KindExec) {
			return nil, Misused(errors.New("worker: other people's programs would run as root: name a user with --user, " +
				"such as nobody"))
		}
		return nil, nil
	}
	if !root {
		return nil, Misused(errors.New("worker: --user: only root can run cells as another user"))
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, Misused(fmt.Errorf("worker: --user: %w", err))
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return nil, Misused(fmt.Errorf("worker: --user: %w", err))
	}
	if uid == 0 {
		return nil, Misused(fmt.Errorf("worker: --user %s is root: name another user", name))
	}
	return &runner.Account{UID: uint32(uid), GID: uint32(gid)}, nil
}

// readableExecutable returns a function that copies binaries into dir, where every account can run them.
func readableExecutable(dir string, log io.Writer) func(context.Context, cell.Build) (string, error) {
	return func(ctx context.Context, build cell.Build) (string, error) {
		exe, err := runner.Executable(ctx, build, log)
		if err != nil {
			return "", err
		}
		info, err := os.Stat(exe)
		if err != nil {
			return "", err
		}
		target := filepath.Join(dir, fmt.Sprintf("isobar-%s-%x-%x", build, info.Size(), info.ModTime().UnixNano()))
		if _, err := os.Stat(target); err == nil {
			return target, nil
		}
		data, err := os.ReadFile(exe)
		if err != nil {
			return "", err
		}
		return target, atomicfile.Bytes(target, 0o755, data)
	}
}

// workerEnv is the environment of cells. It passes only the worker's variables for finding
// programs and for output.
func workerEnv(dir string) []string {
	env := []string{"HOME=" + dir, "TMPDIR=" + dir, "TMP=" + dir, "TEMP=" + dir}
	for _, name := range []string{"PATH", "LANG", "LC_ALL", "TZ", "SystemRoot", "NO_COLOR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
