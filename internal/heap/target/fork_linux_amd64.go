package target

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A thread that waits in runtime.futex makes the fork, with the instructions of
// runtime.clone. The process stays intact even if isobar is killed at any point and
// the thread goes on with the registers that it was given:
//
//	SYSCALL                      both
//	CMPQ AX, $0; JEQ 3(PC)
//	MOVL AX, ret+40(FP); RET     the process: returns from runtime.futex, whose result lies there
//	                             as well, as if woken, which its callers allow for
//	MOVQ SI, SP                  the child
//	CMPQ R13, $0; JEQ nog2       R13 is 0
//	...
//	nog2: CALL R12               R12 is the next instruction
//	MOVL $111, DI; MOVL $SYS_exit, AX; SYSCALL
//
// Both have the same stack, but the child's is a copy.
var (
	cloneCode = []byte("\x0f\x05\x48\x83\xf8\x00\x74\x05\x89\x44\x24\x30\xc3\x48\x89\xf4\x49\x83\xfd\x00\x74")
	exitCode  = []byte("\x41\xff\xd4\xbf\x6f\x00\x00\x00\xb8\x3c\x00\x00\x00\x0f\x05")
	futexCode = []byte("\x0f\x05\x89\x44\x24\x30\xc3") // SYSCALL; MOVL AX, ret+40(FP); RET
)

const callBytes = 3 // of CALL R12

// findClone returns the address of the system call in runtime.clone.
func (p *Process) findClone() (uint64, error) {
	b := make([]byte, 1<<20)
	for _, prog := range p.Program.ELF.Progs {
		if prog.Type != elf.PT_LOAD || prog.Flags&elf.PF_X == 0 {
			continue
		}
		for off := int64(0); off < int64(prog.Filesz); off += int64(len(b) - len(cloneCode)) {
			n, _ := prog.ReadAt(b, off) // fewer at the end
			if i := bytes.Index(b[:n], cloneCode); i >= 0 {
				addr := prog.Vaddr + uint64(off) + uint64(i) + p.Program.Bias
				if _, err := p.exitOf(addr); err != nil {
					return 0, err
				}
				return addr, nil
			}
		}
	}
	return 0, fmt.Errorf("target: %w: %s has another runtime.clone", ErrNoFork, p.Program.Go)
}

// exitOf returns the address of the instructions with which runtime.clone ends a thread. It
// checks that the process has the expected code.
func (p *Process) exitOf(clone uint64) (uint64, error) {
	b := make([]byte, len(cloneCode)+1+127+len(exitCode))
	if err := p.Read([]Range{{Addr: clone, Data: b}}); err != nil {
		return 0, err
	}
	at := len(cloneCode) + 1 + int(b[len(cloneCode)])
	if !bytes.HasPrefix(b, cloneCode) || at+len(exitCode) > len(b) || !bytes.HasPrefix(b[at:], exitCode) {
		return 0, fmt.Errorf("target: %w: %s has another runtime.clone", ErrNoFork, p.Program.Go)
	}
	return clone + uint64(at) + callBytes, nil
}

// fork lets a waiting thread of the stopped process fork. The child shares the file table, so
// that a file closes when the process closes it.
func (p *Process) fork(clone uint64) (child, error) {
	exit, err := p.exitOf(clone)
	if err != nil {
		return child{}, err
	}
	for tid := range p.threads {
		was, err := p.waiting(tid)
		if err != nil {
			continue
		}
		set := *was
		set.Rip, set.Rax = clone, unix.SYS_CLONE
		set.Rdi, set.Rsi, set.Rdx, set.R10, set.R8 = unix.CLONE_FILES, was.Rsp, 0, 0, 0
		set.R12, set.R13 = exit, 0
		if err := unix.PtraceSetOptions(tid, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACESYSGOOD); err != nil {
			continue // the thread has ended
		}
		inner, pid, err := call(tid, was, set)
		if pid > 0 {
			if _, err := wait(pid); err == nil {
				_ = unix.PtraceSetOptions(pid, unix.PTRACE_O_EXITKILL) // an error means that the child was killed
			}
			c := child{pid, uint64(inner)}
			if err != nil {
				return child{}, errors.Join(err, unix.Kill(pid, unix.SIGKILL))
			}
			return c, nil
		}
		if err == nil {
			err = unix.Errno(-inner)
		}
		return child{}, fmt.Errorf("target: %w: process %d may not: %w", ErrNoFork, p.PID, err)
	}
	return child{}, errNoWaiter
}

// reapIn lets one stopped thread reap a dead child.
func (p *Process) reapIn(tid int, inner uint64) error {
	was, err := p.waiting(tid)
	if err != nil {
		return err
	}
	set := *was
	set.Rip, set.Rax = was.Rip-2, unix.SYS_WAIT4
	set.Rdi, set.Rsi, set.Rdx, set.R10 = inner, 0, unix.WALL|unix.WNOHANG, 0
	if err := unix.PtraceSetOptions(tid, unix.PTRACE_O_TRACESYSGOOD); err != nil {
		return err
	}
	// ECHILD: it was already reaped.
	if n, _, err := call(tid, was, set); err != nil || n != int64(inner) && n != -int64(unix.ECHILD) {
		return errors.Join(errNoWaiter, err)
	}
	return nil
}

// The kernel's results of a system call that a stop interrupted and that it will restart: with
// the same arguments, or with the remaining time.
const (
	restartSys   = -512
	restartBlock = -516
)

// waits reports whether a line of /proc/PID/task/TID/syscall shows a thread that waits in a futex,
// or in whatever the kernel has restarted with the remaining time.
func waits(call string) bool {
	number, _, _ := strings.Cut(call, " ")
	return number == strconv.Itoa(unix.SYS_FUTEX) || number == strconv.Itoa(unix.SYS_RESTART_SYSCALL)
}

// waiting returns the registers of a stopped thread that waits in runtime.futex, or errNoWaiter.
func (p *Process) waiting(tid int) (*unix.PtraceRegs, error) {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &r); err != nil {
		return nil, err
	}
	const waitPrivate = 128 // FUTEX_WAIT|FUTEX_PRIVATE_FLAG
	called, n := r.Orig_rax, int64(r.Rax)
	waits := called == unix.SYS_FUTEX && (n == restartSys || n == restartBlock) ||
		called == unix.SYS_RESTART_SYSCALL && n == restartBlock // with a time-out, and stopped before
	if !waits || r.Rsi != waitPrivate {
		return nil, errNoWaiter
	}
	b := make([]byte, len(futexCode))
	if err := p.Read([]Range{{Addr: r.Rip - 2, Data: b}}); err != nil || !bytes.Equal(b, futexCode) {
		return nil, errNoWaiter
	}
	return &r, nil
}

// call lets a stopped thread make one system call. It returns the result and the process that the
// call created, if any; afterwards the thread is where it was. If a signal comes first, call
// delivers it: the thread is then at its handler, and the error is errNoWaiter.
func call(tid int, was *unix.PtraceRegs, set unix.PtraceRegs) (result int64, made int, err error) {
	set.Orig_rax = ^uint64(0) // the registers belong to no system call to restart
	if err := unix.PtraceSetRegs(tid, &set); err != nil {
		return 0, 0, err
	}
	for within := false; ; {
		if err := unix.PtraceSyscall(tid, 0); err != nil {
			return 0, made, err
		}
		status, err := wait(tid)
		if err != nil || !status.Stopped() {
			return 0, made, errors.Join(errNoWaiter, err)
		}
		signal := status.StopSignal()
		switch event := int(status) >> 16; {
		case event == unix.PTRACE_EVENT_CLONE:
			message, err := unix.PtraceGetEventMsg(tid)
			if made = int(message); err != nil {
				return 0, made, err
			}
		case event != 0:
			// A stop of the whole process: it takes effect when we detach.
		case signal != unix.SIGTRAP|0x80:
			return 0, made, errors.Join(errNoWaiter, stopAgain(tid, was, int(signal)))
		case !within:
			within = true
		default:
			var r unix.PtraceRegs
			err := unix.PtraceGetRegs(tid, &r)
			if within = false; err != nil {
				return 0, made, err
			}
			if n := int64(r.Rax); n > restartSys || n < restartBlock { // otherwise the kernel restarts it
				return n, made, stopAgain(tid, was, 0)
			}
		}
	}
}

// stopAgain sets a thread's registers and stops it by PTRACE_INTERRUPT: only after such a stop
// does the kernel restart an interrupted call.
func stopAgain(tid int, was *unix.PtraceRegs, signal int) error {
	if signal != 0 { // the handler starts with these
		if err := unix.PtraceSetRegs(tid, was); err != nil {
			return err
		}
	}
	if err := errors.Join(unix.PtraceInterrupt(tid), unix.PtraceCont(tid, signal)); err != nil {
		return err
	}
	if _, err := wait(tid); err != nil || signal != 0 {
		return err
	}
	return unix.PtraceSetRegs(tid, was)
}
