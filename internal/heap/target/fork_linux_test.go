package target

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A busy is a running testdata/busy.
type busy struct {
	*Process
	in      io.Writer
	out     *bufio.Scanner
	counter uint64 // address of its counter
}

// built builds a program of testdata.
func built(t *testing.T, name, cgo string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("testdata", name)
	build.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if out, err := build.CombinedOutput(); err != nil {
		if cgo == "1" && strings.Contains(string(out), "C compiler") {
			t.Skipf("no C compiler here: %s", out)
		}
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

// startBusy starts testdata/busy.
func startBusy(t *testing.T, cgo string, env ...string) *busy {
	t.Helper()
	cmd := exec.Command(built(t, "busy", cgo))
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
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
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	b := &busy{in: in, out: bufio.NewScanner(out)}
	if !b.out.Scan() {
		t.Fatal("the program does not start")
	}
	if _, err := fmt.Sscanf(b.out.Text(), "counter %v", &b.counter); err != nil {
		t.Fatal(err)
	}
	if b.Process, err = OpenProcess(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// answers checks that the program answers a line and a signal.
func (b *busy) answers(t *testing.T, n int) {
	t.Helper()
	fmt.Fprintln(b.in, n)
	if err := unix.Kill(b.PID, unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{fmt.Sprint(n * n): true, "signal": true}
	for len(want) > 0 && b.out.Scan() {
		if !want[b.out.Text()] {
			t.Fatalf("the program answered %q to %d", b.out.Text(), n)
		}
		delete(want, b.out.Text())
	}
	if len(want) > 0 {
		t.Fatalf("the program ended, and did not answer %v", want)
	}
}

// count reads the program's counter, in the fork while there is one.
func (b *busy) count(t *testing.T) uint64 {
	t.Helper()
	data := make([]byte, 8)
	if err := b.Read([]Range{{Addr: b.counter, Data: data}}); err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(data)
}

// dead returns how many of the program's children are dead copies of it. It fails the
// test if one runs.
func (b *busy) dead(t *testing.T) (dead int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		data, _ := os.ReadFile(name)
		var pid, parent int
		var state string
		if n, _ := fmt.Sscanf(string(data), "%d (busy) %1s %d", &pid, &state, &parent); n == 3 && parent == b.PID {
			exit, _ := strconv.Atoi(string(data[bytes.LastIndexByte(data, ' ')+1 : len(data)-1]))
			if state == "Z" && (exit == 111<<8 || exit == int(unix.SIGKILL)) {
				dead++
			} else {
				t.Logf("child %d: %s", pid, data) // the program's own child, before its exec
			}
		}
	}
	return dead
}

var forked = []struct{ name, cgo, env string }{
	{"many threads", "0", "GODEBUG="}, {"one processor", "0", "GOMAXPROCS=1"}, {"cgo", "1", "GODEBUG="},
}

// forks fails the test if a fork failed, or skips it if forks are impossible here.
func forks(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, ErrNoFork) && (runtime.GOARCH != "amd64" || strings.Contains(err.Error(), "seccomp")) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// times is how often to repeat a test: least, or most in a soak.
func times(least, most int) int {
	if os.Getenv("ISOBAR_SOAK") != "" {
		return most
	}
	return least
}

// TestForks forks a busy program repeatedly. The fork must stand still; the program must go on,
// answer, receive its signals and have no child left.
func TestForks(t *testing.T) {
	for _, tc := range forked {
		t.Run(tc.name, func(t *testing.T) {
			b := startBusy(t, tc.cgo, tc.env)
			var longest time.Duration
			none := 0
			for i := range times(10, 200) {
				var copied uint64
				stop, err := b.Forked(0, func() error {
					copied = b.count(t)
					b.answers(t, i) // meanwhile
					if again := b.count(t); again != copied {
						t.Errorf("the fork counted from %d to %d", copied, again)
					}
					if regs, err := b.Threads(); err != nil || len(regs) == 0 {
						t.Errorf("threads of the fork: %v, %v", regs, err)
					}
					return nil
				})
				if errors.Is(err, errNoWaiter) && none < 5 {
					none++
					continue
				}
				forks(t, err)
				longest = max(longest, stop)
				b.answers(t, -i)
				if now := b.count(t); now < copied {
					t.Errorf("the program counted from %d to %d", copied, now)
				}
			}
			t.Logf("stopped for at most %v; %d times no thread waited", longest, none)
			if n := b.dead(t); n > 0 {
				t.Errorf("%d dead children are left", n)
			}
		})
	}
}

// TestForksOfAnIdleProgram: a program with one processor that waits for its input and for a timer. Only the
// runtime's monitor waits in a futex, and after each stop goes on doing so in another system call.
func TestForksOfAnIdleProgram(t *testing.T) {
	cmd := exec.Command(built(t, "idle", "0"))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
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
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	p, err := OpenProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // until the monitor waits
		if _, err = p.Forked(0, func() error { return nil }); !errors.Is(err, errNoWaiter) || time.Now().After(end) {
			break
		}
	}
	forks(t, err)
	for range 3 {
		if _, err := p.Forked(0, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForkWithinBound requests a fork that may take no time.
func TestForkWithinBound(t *testing.T) {
	b := startBusy(t, "0")
	_, err := b.Forked(1, func() error { t.Error("there is a fork"); return nil })
	if !errors.Is(err, ErrNoFork) || !strings.Contains(err.Error(), "stand still") &&
		!strings.Contains(err.Error(), "seccomp") {
		t.Errorf("%v, want one that says why there is no fork", err)
	}
}

// TestForkLeavesRegisters compares the registers of all threads before and after.
func TestForkLeavesRegisters(t *testing.T) {
	b := startBusy(t, "0")
	clone, err := b.findClone()
	forks(t, err)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	read := func() map[int]Regs {
		all := make(map[int]Regs)
		for tid := range b.threads {
			var err error
			if all[tid], err = registers(tid); err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	for range times(3, 20) {
		var c child
		_, err = b.whileStopped(func() error {
			before := read()
			if c, err = b.fork(clone); err != nil {
				return err
			}
			for tid, after := range read() {
				if fmt.Sprint(before[tid]) != fmt.Sprint(after) {
					t.Errorf("registers of thread %d were %x, are %x", tid, before[tid], after)
				}
			}
			return nil
		})
		if errors.Is(err, errNoWaiter) {
			continue
		}
		if err = errors.Join(err, b.end(c)); err != nil {
			t.Fatal(err)
		}
		b.answers(t, 1)
	}
}

// TestKilledWhileForked kills the reader at all points of a fork: the program must go on.
func TestKilledWhileForked(t *testing.T) {
	if pid, err := strconv.Atoi(os.Getenv("ISOBAR_FORKED")); err == nil {
		for p, err := OpenProcess(pid); err == nil; {
			_, err = p.Forked(0, func() error { return nil })
		}
		return
	}
	for _, tc := range forked {
		t.Run(tc.name, func(t *testing.T) {
			b := startBusy(t, tc.cgo, tc.env)
			_, err := b.Forked(0, func() error { return nil })
			if !errors.Is(err, errNoWaiter) {
				forks(t, err)
			}
			for i := range times(5, 60) {
				reader := exec.Command(os.Args[0], "-test.run", "^TestKilledWhileForked$")
				reader.Env = append(os.Environ(), fmt.Sprint("ISOBAR_FORKED=", b.PID))
				if err := reader.Start(); err != nil {
					t.Fatal(err)
				}
				// Some are killed before their first fork, most during one of many.
				late := 20*time.Millisecond + time.Duration(i)*30*time.Millisecond/time.Duration(times(5, 60))
				time.AfterFunc(late, func() { reader.Process.Kill() })
				reader.Wait()
				b.answers(t, i)
			}
			t.Logf("%d of the readers left a dead child", b.dead(t))
		})
	}
}
