package steps

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"github.com/isobar-go/isobar/internal/base/procpin"
)

// Programs are what can be traced. Each prepares itself and returns its parts,
// which run one after the other, on one P and without collections.
type Programs map[string]func() []func()

// A Count is of instructions: all of them, and those that lock the bus.
type Count struct{ All, Locked int }

const programVar = "ISOBAR_TRACED_PROGRAM"

// Serve runs a program and ends the process, if that is a child of Trace.
func Serve(programs Programs) {
	name := os.Getenv(programVar)
	if name == "" {
		return
	}
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	parts := programs[name]()
	procpin.Pin() // or the runtime, which has waited for ten milliseconds, would run another goroutine
	for _, part := range parts {
		runtime.Breakpoint()
		part()
	}
	runtime.Breakpoint()
	os.Exit(0)
}

// Trace counts the instructions of the first parts of a program. The error says
// why none can be traced.
func Trace(program string, parts int) ([]Count, error) {
	runtime.LockOSThread() // one thread traces
	defer runtime.UnlockOSThread()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), programVar+"="+program, "GODEBUG=asyncpreemptoff=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t := &tracee{pid: cmd.Process.Pid}
	defer func() {
		_ = cmd.Process.Kill()
		for _, id := range t.others {
			_, _ = syscall.Wait4(id, nil, syscall.WALL, nil)
		}
		_ = cmd.Wait()
	}()
	if err := t.wait(); err != nil { // after exec
		return nil, err
	}
	return t.count(parts)
}

// A tracee is a stopped child.
type tracee struct {
	pid    int
	others []int // threads
	status syscall.WaitStatus
	regs   syscall.PtraceRegs
}

// wait waits until the child stops.
func (t *tracee) wait() error {
	_, err := syscall.Wait4(t.pid, &t.status, 0, nil)
	return err
}

// resume lets the child run until it stops: for one instruction, or until the
// next breakpoint or signal.
func (t *tracee) resume(one bool) error {
	signal := 0
	if t.status.Stopped() && t.status.StopSignal() != syscall.SIGTRAP {
		signal = int(t.status.StopSignal())
	}
	var err error
	if one {
		err = step(t.pid, signal)
	} else {
		err = syscall.PtraceCont(t.pid, signal)
	}
	if err != nil {
		return err
	}
	if err := t.wait(); err != nil {
		return err
	}
	if !t.status.Stopped() {
		return fmt.Errorf("the child ended early: %v", t.status)
	}
	return syscall.PtraceGetRegs(t.pid, &t.regs)
}

// count counts the instructions between breakpoints.
func (t *tracee) count(parts int) ([]Count, error) {
	counts := make([]Count, parts)
	var code [4]byte // of the next instruction
	for part := -1; ; {
		if err := t.resume(part >= 0); err != nil {
			return nil, err
		}
		if t.status.StopSignal() != syscall.SIGTRAP {
			continue
		}
		if part < 0 || code[0] == breakpoint { // the last instruction
			if part++; part == 0 {
				var err error
				if t.others, err = stopOthers(t.pid); err != nil {
					return nil, err
				}
			}
			if part == parts {
				return counts, nil
			}
		}
		if _, err := syscall.PtracePeekText(t.pid, uintptr(t.regs.Rip), code[:]); err != nil {
			return nil, err
		}
		counts[part].All++
		if locked(code[:]) {
			counts[part].Locked++
		}
	}
}

// stopOthers stops all threads of a process but the first. One of them would ask
// every few steps, each of which takes long, that the goroutine make way.
func stopOthers(pid int) (others []int, err error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		if id, _ := strconv.Atoi(task.Name()); id != pid {
			if err := syscall.PtraceAttach(id); err != nil {
				return others, err
			}
			others = append(others, id)
			if _, err := syscall.Wait4(id, nil, syscall.WALL, nil); err != nil {
				return others, err
			}
		}
	}
	return others, err
}

const breakpoint = 0xCC // INT3

func step(pid, signal int) error {
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, syscall.PTRACE_SINGLESTEP, uintptr(pid), 0, uintptr(signal), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// locked reports whether an instruction has a lock prefix, or exchanges a
// register with memory, which locks without one.
func locked(code []byte) bool {
	if code[0] == 0xF0 {
		return true
	}
	if code[0]&0xF0 == 0x40 { // REX prefix
		code = code[1:]
	}
	return code[0]|1 == 0x87 && code[1]>>6 != 3
}
