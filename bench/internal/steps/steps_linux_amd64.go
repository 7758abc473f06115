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
	pid := cmd.Process.Pid
	var others []int // threads
	defer func() {
		_ = cmd.Process.Kill()
		for _, id := range others {
			_, _ = syscall.Wait4(id, nil, syscall.WALL, nil)
		}
		_ = cmd.Wait()
	}()
	wait := func(resume func() error) (syscall.WaitStatus, error) {
		if err := resume(); err != nil {
			return 0, err
		}
		var status syscall.WaitStatus
		_, err := syscall.Wait4(pid, &status, 0, nil)
		return status, err
	}
	status, err := wait(func() error { return nil }) // after exec
	if err != nil {
		return nil, err
	}
	counts := make([]Count, parts)
	var code [4]byte // of the next instruction
	var regs syscall.PtraceRegs
	for part := -1; ; {
		signal := 0
		if status.Stopped() && status.StopSignal() != syscall.SIGTRAP {
			signal = int(status.StopSignal())
		}
		resume := func() error { return syscall.PtraceCont(pid, signal) }
		if part >= 0 {
			resume = func() error { return step(pid, signal) }
		}
		if status, err = wait(resume); err != nil {
			return nil, err
		}
		if !status.Stopped() {
			return nil, fmt.Errorf("the child ended early: %v", status)
		}
		if err := syscall.PtraceGetRegs(pid, &regs); err != nil {
			return nil, err
		}
		if status.StopSignal() != syscall.SIGTRAP {
			continue
		}
		if part < 0 || code[0] == breakpoint { // the last instruction
			if part++; part == 0 {
				if others, err = stopOthers(pid); err != nil {
					return nil, err
				}
			}
			if part == parts {
				return counts, nil
			}
		}
		if _, err := syscall.PtracePeekText(pid, uintptr(regs.Rip), code[:]); err != nil {
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
