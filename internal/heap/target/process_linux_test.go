package target

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// itself starts this program again. When that reads a byte, it executes another program, or ends.
func itself(t *testing.T, becomes string) (*exec.Cmd, io.Writer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestProcessBecomesAnother$")
	cmd.Env = append(os.Environ(), "ISOBAR_BECOMES="+becomes)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, in
}

// variable returns memory that only the process has.
func variable(p *Process) Range {
	i := slices.IndexFunc(p.Maps, func(m Mapping) bool { return m.Read && m.Write })
	return Range{Addr: p.Maps[i].Start, Data: make([]byte, 8)}
}

// eventually waits until a process has ended or changed, and returns the error of Same.
func eventually(t *testing.T, p *Process) error {
	t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if err := p.Same(); err != nil {
			return err
		}
	}
	t.Fatal("nothing happened to the process")
	return nil
}

// TestProcessJustStarted opens processes as early as possible: the kernel may still be loading
// the program. What was read then must remain true.
func TestProcessJustStarted(t *testing.T) {
	for range 50 {
		cmd, _ := itself(t, "nothing")
		p, err := OpenProcess(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		if err := p.Same(); err != nil {
			t.Error(err)
		}
		p.Close()
		cmd.Process.Kill()
	}
}

// TestConstantsComeFromTheFile: to read a process's code and constants makes nothing more of them resident.
func TestConstantsComeFromTheFile(t *testing.T) {
	cmd, _ := itself(t, "nothing")
	p, err := OpenProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	resident := func() (rss uint64) {
		maps, err := p.Resident()
		if err != nil {
			t.Error(err)
		}
		for _, m := range maps {
			if m.File == p.Program.Path && !m.Write {
				rss += m.RSS
			}
		}
		return rss
	}
	if _, err := p.Stopped(func() error { // it would touch more of its code meanwhile
		for _, seg := range p.Program.ELF.Progs {
			if seg.Type != elf.PT_LOAD || seg.Flags&elf.PF_W != 0 {
				continue
			}
			all := Range{seg.Vaddr + p.Program.Bias, make([]byte, seg.Filesz)}
			before := resident()
			if err := p.Read([]Range{all}); err != nil {
				return err
			}
			if after := resident(); after != before {
				t.Errorf("%d bytes of the program are resident, and %d after %d of it were read", before, after, seg.Filesz)
			}
			there := make([]byte, seg.Filesz)
			local, remote := []unix.Iovec{{Base: &there[0]}}, []unix.RemoteIovec{{Base: uintptr(all.Addr), Len: len(there)}}
			local[0].SetLen(len(there))
			if _, err := unix.ProcessVMReadv(p.PID, local, remote, 0); err != nil || !bytes.Equal(there, all.Data) {
				t.Errorf("what was read at %#x is not what the process has there: %v", all.Addr, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestUnreapedHasEnded: a process that is not yet reaped has no memory left.
func TestUnreapedHasEnded(t *testing.T) {
	cmd, _ := itself(t, "nothing")
	p, err := OpenProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	cmd.Process.Kill()
	if err := eventually(t, p); !strings.Contains(err.Error(), "ended") {
		t.Error(err)
	}
}

// TestProcessBecomesAnother opens a process that then ends, executes another program, or executes
// its own again. Errors must say so, and nothing is stopped.
func TestProcessBecomesAnother(t *testing.T) {
	switch becomes := os.Getenv("ISOBAR_BECOMES"); becomes {
	case "":
	case "nothing":
		os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	default:
		os.Stdin.Read(make([]byte, 1))
		args := []string{becomes}
		if self, err := os.Executable(); err == nil && becomes == self {
			args = append(args, "-test.run", "^TestProcessBecomesAnother$")
		}
		panic(syscall.Exec(becomes, args, append(os.Environ(), "ISOBAR_BECOMES=nothing")))
	}
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for becomes, want := range map[string]string{"nothing": "ended", cat: "runs another program", self: "again"} {
		cmd, in := itself(t, becomes)
		p, err := OpenProcess(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.Same(); err != nil {
			t.Errorf("%s, before: %v", becomes, err)
		}
		io.WriteString(in, "\n")
		if becomes == "nothing" {
			cmd.Wait()
		}
		if err := eventually(t, p); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", becomes, err, want)
		}
		ran := func() error { t.Errorf("%s: it was stopped", becomes); return nil }
		if _, err := p.Stopped(ran); err == nil {
			t.Errorf("%s: it could be stopped", becomes)
		}
		if _, err := p.Forked(0, ran); err == nil {
			t.Errorf("%s: it could be forked", becomes)
		}
		if becomes == "nothing" {
			err := p.Read([]Range{variable(p)})
			if err == nil || !strings.Contains(err.Error(), "has ended") {
				t.Errorf("reading a process that has ended: %v", err)
			}
		}
	}
}

// TestProcessOfAnotherUser looks at a process of root as another user.
func TestProcessOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	cmd, _ := itself(t, "nothing")
	p, err := OpenProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	errs := make(chan [3]error)
	go traced(func() (time.Duration, error) { // not on the main thread
		runtime.LockOSThread() // and never unlock: the thread ends, and with it the user
		const nobody = 65534
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); e != 0 {
			errs <- [3]error{e, e, e}
			return 0, e
		}
		_, open := OpenProcess(cmd.Process.Pid)
		_, stop := p.Stopped(func() error { return nil })
		errs <- [3]error{open, stop, p.Read([]Range{variable(p)})}
		return 0, nil
	})
	for i, err := range <-errs {
		if err == nil || !strings.Contains(err.Error(), "CAP_SYS_PTRACE") || !strings.Contains(err.Error(), "core file") {
			t.Errorf("%s: %v", []string{"open", "stop", "read"}[i], err)
		}
	}
}

// TestProcessThatIsTraced has a process with a debugger attached.
func TestProcessThatIsTraced(t *testing.T) {
	runtime.LockOSThread() // traces
	defer runtime.UnlockOSThread()
	cmd := exec.Command(os.Args[0], "-test.run", "^$")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	p, err := OpenProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = p.Stopped(func() error { return nil })
	if want := fmt.Sprintf("process %d, a debugger", unix.Gettid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestKilledWhileStopped: a process killed while it is stopped also ends for its parent, which
// here is the process that stopped it.
func TestKilledWhileStopped(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run", "^TestProcessBecomesAnother$")
	cmd.Env = append(os.Environ(), "ISOBAR_BECOMES=nothing")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill() // no Wait: that is what might hang
	p, err := OpenProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for threads := 0; threads < 2; { // a Go program starts some at its start
		if _, err = p.Stopped(func() error { threads = len(p.threads); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if _, err = p.Stopped(cmd.Process.Kill); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		t.Log(err)
	case <-time.After(time.Minute):
		t.Fatal("it never ends")
	}
}

// TestThreadThatDoesNotStop: a thread waits for a child of vfork until standard input ends. The
// others must not stand still for as long, and nothing remains stopped.
func TestThreadThatDoesNotStop(t *testing.T) {
	if os.Getenv("ISOBAR_BECOMES") == "vfork" {
		go func() {
			var b byte
			pid, _, _ := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_VFORK|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
			if pid == 0 { // nothing but system calls is safe here
				unix.RawSyscall(unix.SYS_READ, 0, uintptr(unsafe.Pointer(&b)), 1)
				unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
		}()
		time.Sleep(time.Hour)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestThreadThatDoesNotStop$")
	cmd.Env = append(os.Environ(), "ISOBAR_BECOMES=vfork")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	defer in.Close()
	p, err := OpenProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.MostStop = 200 * time.Millisecond
	stopped := func() error {
		result := make(chan error)
		go func() { // the goroutine keeps its thread if another does not stop
			_, err := p.Stopped(func() error { return nil })
			result <- err
		}()
		return <-result
	}
	until := time.Now().Add(time.Minute)
	for err = nil; err == nil && time.Now().Before(until); { // until it waits for the child
		err = stopped()
	}
	if !errors.Is(err, errStuck) || !strings.Contains(err.Error(), "vfork") {
		t.Fatalf("a thread that waits for a child: %v", err)
	}
	in.Close()
	for err != nil && time.Now().Before(until) { // the kernel lets go, and the thread returns
		time.Sleep(time.Millisecond)
		err = stopped()
	}
	if err != nil {
		t.Error(err)
	}
}

// TestTracesOffTheMainThread: the main thread does not end with its goroutine, and would keep what it traces.
func TestTracesOffTheMainThread(t *testing.T) {
	for range 1000 {
		on := make(chan int)
		go traced(func() (time.Duration, error) {
			on <- unix.Gettid()
			return 0, nil
		})
		if <-on == unix.Getpid() {
			t.Fatal("on the main thread")
		}
	}
}

// TestProgramOfAnotherArchitecture changes the header of a program.
func TestProgramOfAnotherArchitecture(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	for machine, want := range map[uint16]string{62: "", 183: "", 243: "EM_RISCV: only amd64 and arm64", 3: "EM_386"} {
		name := filepath.Join(t.TempDir(), fmt.Sprint(machine))
		binary.LittleEndian.PutUint16(data[18:], machine)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := OpenProgram(name, name)
		if err == nil {
			p.Close()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("machine %d: %v, want %q", machine, err, want)
		}
	}
	own := filepath.Join(t.TempDir(), "own")
	memory := core(note(noteFiles, files(0x400000, 0x500000, 0, "/bin/x")), []byte("memory"))
	if err := os.WriteFile(own, memory, 0o600); err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint16(data[18:], uint16(elf.EM_AARCH64))
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCore(own, other); err == nil || !strings.Contains(err.Error(), "of EM_X86_64") {
		t.Errorf("a core with a program for another architecture: %v", err)
	}
	if _, err := OpenProgram(filepath.Join(t.TempDir(), "none"), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
