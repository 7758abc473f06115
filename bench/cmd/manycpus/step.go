//go:build linux && amd64

package main

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/arch/x86/x86asm"
	"golang.org/x/sys/unix"
)

// A program is our own code, which a child runs at the same addresses.
type program struct {
	text          []byte
	at            uint64 // of text
	marked, tried uint64
	instructions  map[uint64]*instruction // by address
}

// An instruction is what the model wants to know of one.
type instruction struct {
	memory []x86asm.Mem
	stack  bool // it pushes, pops, calls or returns
	writes bool
	locked bool
	kernel bool // it calls the kernel
	length int
}

func load() (*program, error) {
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := f.Section(".text")
	if f.Type != elf.ET_EXEC || text == nil {
		return nil, errors.New("the program lies at another address each time; build without -buildmode=pie")
	}
	p := &program{
		at: text.Addr, marked: entry(marked), tried: entry(tried), instructions: map[uint64]*instruction{},
	}
	p.text, err = text.Data()
	return p, err
}

func entry(f any) uint64 { return uint64(reflect.ValueOf(f).Pointer()) }

// decode returns the instruction at an address; nil outside of the program.
func (p *program) decode(pc uint64) *instruction {
	if in := p.instructions[pc]; in != nil {
		return in
	}
	off := pc - p.at
	if off >= uint64(len(p.text)) {
		return nil
	}
	in := &instruction{}
	p.instructions[pc] = in
	d, err := x86asm.Decode(p.text[off:min(off+16, uint64(len(p.text)))], 64)
	if err != nil {
		return in // of vectors: copies of memory that is not shared
	}
	in.length = d.Len
	switch d.Op {
	case x86asm.LEA, x86asm.NOP, x86asm.PREFETCHNTA, x86asm.PREFETCHT0:
		return in
	case x86asm.SYSCALL:
		in.kernel = true
	case x86asm.CALL, x86asm.PUSH, x86asm.RET, x86asm.POP:
		in.stack = true
	}
	for i, a := range d.Args {
		if m, ok := a.(x86asm.Mem); ok {
			in.memory = append(in.memory, m)
			in.writes = i == 0 && d.Op != x86asm.CMP && d.Op != x86asm.TEST && d.Op != x86asm.BT
			in.locked = d.Op == x86asm.XCHG
		}
	}
	for _, prefix := range d.Prefix {
		in.locked = in.locked || prefix&0xff == x86asm.PrefixLOCK&0xff
	}
	return in
}

// accesses are those of an instruction with these registers.
func (in *instruction) accesses(r *unix.PtraceRegs, to []access) []access {
	if in.stack {
		to = append(to, access{addr: r.Rsp - 8, write: true})
	}
	for _, m := range in.memory {
		addr := register(r, m.Base, in.length) + register(r, m.Index, in.length)*uint64(m.Scale) + uint64(m.Disp)
		if m.Segment == x86asm.FS {
			addr += r.Fs_base
		}
		to = append(to, access{addr: addr, write: in.writes, locked: in.locked})
	}
	return to
}

func register(r *unix.PtraceRegs, name x86asm.Reg, length int) uint64 {
	switch name {
	case x86asm.RAX:
		return r.Rax
	case x86asm.RBX:
		return r.Rbx
	case x86asm.RCX:
		return r.Rcx
	case x86asm.RDX:
		return r.Rdx
	case x86asm.RSI:
		return r.Rsi
	case x86asm.RDI:
		return r.Rdi
	case x86asm.RBP:
		return r.Rbp
	case x86asm.RSP:
		return r.Rsp
	case x86asm.R8:
		return r.R8
	case x86asm.R9:
		return r.R9
	case x86asm.R10:
		return r.R10
	case x86asm.R11:
		return r.R11
	case x86asm.R12:
		return r.R12
	case x86asm.R13:
		return r.R13
	case x86asm.R14:
		return r.R14
	case x86asm.R15:
		return r.R15
	case x86asm.RIP:
		return r.Rip + uint64(length)
	}
	return 0
}

// A result is what a simulation has found, for each operation of all CPUs together.
type result struct{ ns, instructions, moves float64 }

// errWaits is the error of a simulation in which a CPU waits in the kernel, as for a
// lock of the scheduler that a thread has which does not go on.
var errWaits = errors.New("a CPU waits for another in the kernel, which the model does not know")

// simulate is simulateOnce, a few times if need be.
func simulate(p *program, name string, m func() *machine, enough int) (r result, err error) {
	for range 5 {
		if r, err = simulateOnce(p, name, m(), enough); !errors.Is(err, errWaits) {
			break
		}
	}
	return r, err
}

// simulateOnce steps through a child that runs a subject on n CPUs, always on the CPU
// whose clock is behind, until they have finished enough operations.
func simulateOnce(p *program, name string, m *machine, enough int) (result, error) {
	runtime.LockOSThread() // ptrace serves only the thread that attached
	defer runtime.UnlockOSThread()
	n := len(m.now)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"="+name+"/"+strconv.Itoa(n), "GODEBUG=asyncpreemptoff=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return result{}, err
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return result{}, err
	}
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	defer end(cmd.Process)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return result{}, err
	}
	cpus, err := attach(cmd.Process.Pid, n)
	if err != nil {
		return result{}, err
	}
	var here unix.CPUSet // on one CPU a step takes a fraction of the time
	here.Set(0)
	for _, tid := range append(cpus, 0) {
		if err := unix.SchedSetaffinity(tid, &here); err != nil {
			return result{}, err
		}
	}
	if _, err := unix.PtracePokeData(cpus[0], uintptr(unsafe.Pointer(&begun)), []byte{1, 0, 0, 0}); err != nil {
		return result{}, err
	}
	return p.run(cpus, m, enough)
}

// end kills the child. Each of its threads ends only when it was waited for.
func end(p *os.Process) {
	p.Kill() // it cannot have ended before
	for {
		if _, err := unix.Wait4(-1, nil, unix.WALL, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// attach stops all threads and returns those that work.
func attach(pid, n int) (cpus []int, err error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			return nil, err
		}
		if err := unix.PtraceAttach(tid); err != nil {
			return nil, err
		}
		if _, err := wait(tid); err != nil {
			return nil, err
		}
		var r unix.PtraceRegs
		if err := unix.PtraceGetRegs(tid, &r); err != nil {
			return nil, err
		}
		if f := runtime.FuncForPC(uintptr(r.Rip)); f != nil && f.Entry() == reflect.ValueOf(work).Pointer() {
			cpus = append(cpus, tid)
		}
	}
	if len(cpus) != n {
		return nil, fmt.Errorf("%d of %d CPUs have begun: other programs keep them from it", len(cpus), n)
	}
	return cpus, nil
}

func wait(tid int) (unix.WaitStatus, error) {
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(tid, &status, unix.WALL, nil)
		if !errors.Is(err, unix.EINTR) {
			return status, err
		}
	}
}

// tries is how often each CPU has tried before others do: it then has been to the
// scheduler, if it was asked to, alone.
const tries = 8

// maxSteps bounds a simulation whose operations fail again and again.
const maxSteps = 400_000

// errFew is the error of a simulation in which too few operations succeed.
var errFew = errors.New("too few operations")

func (p *program) run(cpus []int, m *machine, enough int) (result, error) {
	for _, tid := range cpus {
		for left := tries; left > 0; {
			r, err := p.step(tid, nil)
			if err != nil {
				return result{}, err
			}
			if r.Rip == p.tried {
				left--
			}
		}
	}
	var sum result
	var accesses []access
	done, from := 0, 0.0
	warm := enough / 4
	for steps := 0; done < warm+enough && steps < maxSteps; steps++ {
		cpu := m.next()
		accesses = accesses[:0]
		r, err := p.step(cpus[cpu], &accesses)
		if err != nil {
			return sum, err
		}
		m.step(cpu, accesses)
		sum.instructions++
		if r.Rip == p.marked {
			done += int(r.Rax) // the argument
			if from == 0 && done >= warm {
				warm, sum, from, m.moves = done, result{}, m.now[cpu], 0
			}
			sum.ns = m.now[cpu] - from
		}
	}
	if from == 0 || done == warm {
		return sum, fmt.Errorf("%w: %d in %d instructions", errFew, done, maxSteps)
	}
	of := float64(done - warm)
	return result{sum.ns / of, sum.instructions / of, float64(m.moves) / of}, nil
}

// step lets a thread make one instruction, and returns its registers before. It
// adds the accesses to memory, if they are wanted.
func (p *program) step(tid int, to *[]access) (*unix.PtraceRegs, error) {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &r); err != nil {
		return nil, err
	}
	if in := p.decode(r.Rip); in != nil {
		const command, waits = 127, 0
		if in.kernel && r.Rax == unix.SYS_FUTEX && r.Rsi&command == waits {
			return nil, errWaits
		}
		if to != nil {
			*to = in.accesses(&r, *to)
		}
	}
	if err := unix.PtraceSingleStep(tid); err != nil {
		return nil, err
	}
	if status, err := wait(tid); err != nil || !status.Stopped() {
		return nil, fmt.Errorf("a CPU has ended: %v, %w", status, err)
	}
	return &r, nil
}
