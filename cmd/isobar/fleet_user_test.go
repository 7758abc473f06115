//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/session"
)

// TestWorkerUser lets a root worker run an uploaded program: it runs as the
// user that the operator named and has none of root's rights.
func TestWorkerUser(t *testing.T) {
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skipf("no user to run cells as: %v", err)
	}
	if os.Geteuid() != 0 {
		if _, err := session.WorkerAccount("nobody", nil); err == nil {
			t.Error("--user was accepted without root")
		}
		t.Skip("only root can run cells as another user")
	}
	for _, o := range []struct {
		user  string
		allow []string
	}{{allow: []string{"lab", "exec"}}, {user: "root"}, {user: "no such user"}} {
		if _, err := session.WorkerAccount(o.user, o.allow); err == nil {
			t.Errorf("a root worker with --user %q --allow %v was accepted", o.user, o.allow)
		}
	}
	if invariant.Race {
		t.Skip("processes measure, which takes long in a race build")
	}
	uid, _ := strconv.Atoi(nobody.Uid)
	other := exec.Command("/bin/true")
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	if err := other.Run(); err != nil {
		t.Skipf("no other user can run a program here: %v", err)
	}
	// The program leaves files outside the test's directories, which only root can enter.
	open, err := os.MkdirTemp("", "isobar-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(open) })
	for _, dir := range []string{open, filepath.Join(open, "left")} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(open, "left"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(open, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	isobar, dir := fleetBinary(t), t.TempDir()
	closed := filepath.Join(open, "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	refused := startCommand(t, isobar, "worker", "nats://127.0.0.1:1", "--dir", filepath.Join(closed, "worker"), "--user", "nobody")
	if code := refused.exit(t); code != exitFailure || !strings.Contains(refused.err.String(), "no program can run in ") ||
		!strings.Contains(refused.err.String(), "permission denied: give --dir ") {
		t.Errorf("a directory that its user cannot enter: status %d\n%s", code, refused.err)
	}
	program := filepath.Join(dir, "program")
	writeProgram(t, program, fmt.Sprintf(leaver, secret, filepath.Join(open, "left")))
	db := filepath.Join(dir, "store.db")
	server := startCommand(t, isobar, "fleet", "serve", "--listen", "127.0.0.1:0", "--dir", filepath.Join(dir, "server"),
		"--json")
	where := server.served(t)
	startCommand(t, isobar, "worker", where.URL, "--token-file", where.Token, "--dir", filepath.Join(open, "worker"),
		"--allow", "lab,exec", "--user", "nobody")
	run := startCommand(t, isobar, "--store", db, "lab", "run", "exec", "--reps", "2", "--fleet", where.URL,
		"--fleet-token-file", where.Token, "--", program)
	if code := run.exit(t); code != exitOK {
		t.Fatalf("lab run: status %d\n%s%s", code, run.out, run.err)
	}
	records := fleetRecords(t, db, 2)
	for _, rec := range records {
		if rec.Err != nil || rec.Metrics[cell.WallTime] <= 0 {
			t.Errorf("cell %d: %v", rec.Cell.Index, rec.Err)
		}
	}
	left, err := os.ReadDir(filepath.Join(open, "left"))
	if err != nil || len(left) != len(records) {
		t.Fatalf("%d runs of the program left %d files, %v", len(records), len(left), err)
	}
	for _, entry := range left {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		stat := info.Sys().(*syscall.Stat_t)
		if strconv.Itoa(int(stat.Uid)) != nobody.Uid || strconv.Itoa(int(stat.Gid)) != nobody.Gid {
			t.Errorf("a file of the program belongs to user %d and group %d, want %s and %s", stat.Uid, stat.Gid, nobody.Uid,
				nobody.Gid)
		}
	}
	refusedWithoutRoot(t, open, nobody)
}

// leaver is a program that fails if it has root's rights or one of root's
// groups, and leaves a file.
const leaver = `package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	groups, err := os.Getgroups()
	if _, read := os.ReadFile(%q); read == nil || os.Geteuid() == 0 || os.Getegid() == 0 || err != nil || len(groups) > 1 {
		fmt.Fprintln(os.Stderr, "rights of root:", os.Geteuid(), os.Getegid(), groups, err)
		os.Exit(3)
	}
	if err := os.WriteFile("own", nil, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(4)
	}
	f, err := os.CreateTemp(%q, "left-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(5)
	}
	f.Close()
	time.Sleep(time.Millisecond)
}
`

// writeProgram makes a directory with a Go program.
func writeProgram(t *testing.T, dir, source string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module program\n\ngo 1.26\n", "main.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// refusedWithoutRoot checks that another user cannot pass --user.
func refusedWithoutRoot(t *testing.T, open string, as *user.User) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	isobar := filepath.Join(open, "isobar")
	if err := os.WriteFile(isobar, data, 0o755); err != nil {
		t.Fatal(err)
	}
	uid, err1 := strconv.ParseUint(as.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(as.Gid, 10, 32)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, isobar, "worker", "nats://127.0.0.1:1", "--user", "nobody", "--dir",
		filepath.Join(open, "left", "worker"))
	cmd.Dir, cmd.SysProcAttr = open,
		&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	output, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != exitUsage ||
		!strings.Contains(string(output), "only root") {
		t.Errorf("--user without root: %v\n%s", err, output)
	}
}
