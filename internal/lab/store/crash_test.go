package store

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// The test binary runs itself as the process that is killed, or that uses a small file system.
const modeEnv = "ISOBAR_STORE_TEST_MODE"

func TestMain(m *testing.M) {
	switch mode, path, _ := strings.Cut(os.Getenv(modeEnv), "="); mode {
	case "append":
		appendForever(path)
	case "lock":
		if _, err := Lock(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("locked")
		bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	case "full":
		if err := fillDisk(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	case "readonly":
		if err := readOnlyPlace(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func again(t *testing.T, mode, path string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), modeEnv+"="+mode+"="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// appendForever resumes the only run, or begins it, and prints which cells are stored.
func appendForever(path string) {
	die := func(err error) {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	s, err := Open(path)
	if err != nil {
		die(err)
	}
	run, err := s.Last()
	if err != nil {
		if run.ID, err = s.CreateRun(Run{}, testPlan(1000)); err != nil {
			die(err)
		}
	}
	cells, err := s.Pending(run.ID)
	if err != nil {
		die(err)
	}
	for _, c := range cells {
		profile := make([]byte, rand.IntN(100_000))
		if err := s.Append(run.ID, testRecord(c, rand.New(rand.NewPCG(uint64(c.Index), 0))), map[string][]byte{"cpu": profile}); err != nil {
			die(err)
		}
		fmt.Println(c.Index)
	}
}

// TestKill kills an appending process at random moments: every cell that it announced
// must be stored once, and complete.
func TestKill(t *testing.T) {
	kills := 8
	if os.Getenv("ISOBAR_SOAK") != "" {
		kills = 200
	}
	path := filepath.Join(t.TempDir(), "s.db")
	stored := map[int]bool{}
	for range kills {
		cmd := again(t, "append", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(rand.IntN(300))*time.Millisecond, func() { cmd.Process.Kill() })
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			index, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Error(lines.Text())
				continue
			}
			if stored[index] {
				t.Errorf("cell %d was measured again", index)
			}
			stored[index] = true
		}
		cmd.Wait()
		timer.Stop()
		if _, err := os.Stat(path); err == nil {
			checkKilled(t, path, stored)
		}
	}
	t.Logf("%d kills, %d records", kills, len(stored))
}

func checkKilled(t *testing.T, path string, stored map[int]bool) {
	t.Helper()
	s := open(t, path)
	defer s.Close()
	run, err := s.Last()
	if err != nil {
		if len(stored) > 0 {
			t.Fatal(err)
		}
		return
	}
	cells := testPlan(1000)
	want := map[int]*cell.Record{}
	records, err := s.Records(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	// One record may be committed but not yet announced.
	for _, rec := range records {
		i := rec.Cell.Index
		want[i] = testRecord(cells[i], rand.New(rand.NewPCG(uint64(i), 0)))
		want[i].Profiles = map[string]string{"cpu": ""}
		stored[i] = true
	}
	for i := range stored {
		if want[i] == nil {
			t.Errorf("the record of cell %d is gone", i)
		}
	}
	check(t, s, run.ID, cells, want)
	var verdict string
	if err := s.db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity: %s, %v", verdict, err)
	}
}

// fillUp appends records until the store is full, makes room, and goes on.
func fillUp(s *Store, makeRoom func() error) error {
	cells := testPlan(1000)
	id, err := s.CreateRun(Run{}, cells)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 1))
	noise := make([]byte, 50_000)
	rand.NewChaCha8([32]byte{}).Read(noise)
	n := 0
	for err == nil && n < len(cells) {
		if err = s.Append(id, testRecord(cells[n], rng), map[string][]byte{"cpu": noise}); err == nil {
			n++
		}
	}
	if !errors.Is(err, ErrFull) {
		return fmt.Errorf("after %d records: %v, want ErrFull", n, err)
	}
	for _, want := range []string{s.path, "free some space"} {
		if !strings.Contains(err.Error(), want) {
			return fmt.Errorf("%v: does not say %q", err, want)
		}
	}
	intact := func(n int) error {
		records, err := s.Records(id)
		if err != nil || len(records) != n {
			return fmt.Errorf("%d records, %v, want %d", len(records), err, n)
		}
		for _, rec := range records {
			if data, err := s.Profile(id, rec.Cell.Index, "cpu"); err != nil || len(data) != len(noise) {
				return fmt.Errorf("profile of cell %d: %d bytes, %v", rec.Cell.Index, len(data), err)
			}
		}
		return nil
	}
	if n == 0 {
		return errors.New("full before the first record: the test needs more room")
	}
	if err := intact(n); err != nil {
		return err
	}
	if err := makeRoom(); err != nil {
		return err
	}
	if err := s.Append(id, testRecord(cells[n], rng), map[string][]byte{"cpu": noise}); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	return intact(n + 1)
}

func TestFullByLimit(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.db"))
	limit := func(pages int) error {
		_, err := s.db.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages))
		return err
	}
	if err := limit(200); err != nil {
		t.Fatal(err)
	}
	if err := fillUp(s, func() error { return limit(1000) }); err != nil {
		t.Error(err)
	}
}

// TestFullDisk does the same on a file system of 2 MB in its own mount namespace.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	onTmpfs(t, "full", dir, "mount -t tmpfs -o size=2m none "+dir)
}

func fillDisk(dir string) error {
	path := filepath.Join(dir, "s.db")
	s, err := Open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 500_000), 0o644); err != nil {
		return err
	}
	if err := fillUp(s, func() error { return os.Remove(ballast) }); err != nil {
		return err
	}
	// Opening on a full disk also fails clearly, and loses nothing.
	if err := s.Close(); err != nil {
		return err
	}
	f, err := os.Create(ballast)
	if err != nil {
		return err
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	f.Close()
	if s, err := Open(path); err == nil {
		_, err = s.CreateRun(Run{}, testPlan(100))
		s.Close()
		if !errors.Is(err, ErrFull) {
			return fmt.Errorf("CreateRun on a full disk: %v, want ErrFull", err)
		}
	} else if !errors.Is(err, ErrFull) {
		return fmt.Errorf("Open on a full disk: %v, want ErrFull", err)
	}
	s, err = OpenReadOnly(path)
	if errors.Is(err, ErrFull) {
		if err := os.Remove(ballast); err != nil {
			return err
		}
		s, err = OpenReadOnly(path)
	}
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Records(1)
	return err
}

// TestReadOnlyPlace reads a store on a file system that is mounted read-only.
func TestReadOnlyPlace(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.db"), filled(t), 0o644); err != nil {
		t.Fatal(err)
	}
	onTmpfs(t, "readonly", dir, fmt.Sprintf("mount --bind %s %s && mount -o remount,ro,bind %s", dir, dir, dir))
}

func readOnlyPlace(dir string) error {
	path := filepath.Join(dir, "s.db")
	if s, err := Open(path); err == nil {
		_, err = s.CreateRun(Run{}, testPlan(1))
		s.Close()
		if err == nil || !strings.Contains(err.Error(), "--store") {
			return fmt.Errorf("CreateRun on a read-only file system: %v", err)
		}
	} else if !strings.Contains(err.Error(), "--store") {
		return fmt.Errorf("Open on a read-only file system: %v", err)
	}
	s, err := OpenReadOnly(path)
	if err != nil {
		return err
	}
	defer s.Close()
	records, err := s.Records(1)
	if err != nil || len(records) != 30 {
		return fmt.Errorf("%d records, %v, want 30", len(records), err)
	}
	return nil
}

// onTmpfs runs this binary in the given mode after a mount command, as root of its
// own mount namespace.
func onTmpfs(t *testing.T, mode, dir, mount string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux mount namespaces")
	}
	flags := "-m"
	if os.Geteuid() != 0 {
		flags = "-rm"
	}
	if out, err := exec.Command("unshare", flags, "sh", "-c", mount).CombinedOutput(); err != nil {
		t.Skipf("no mount namespace here: %v: %s", err, out)
	}
	cmd := again(t, mode, dir)
	wrapped := exec.Command("unshare", flags, "sh", "-c", mount+` && exec "$0"`, cmd.Path)
	wrapped.Env = cmd.Env
	if out, err := wrapped.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	cmd := again(t, "lock", path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "locked\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := Lock(path); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", cmd.Process.Pid)) {
		t.Errorf("locked by process %d, Lock says: %v", cmd.Process.Pid, err)
	}
	in.Close()
	cmd.Wait()
	for range 2 {
		unlock, err := Lock(path)
		if err != nil {
			t.Fatalf("the holder is gone: %v", err)
		}
		if _, err := Lock(path); err == nil {
			t.Error("locked twice")
		}
		unlock()
	}
}
