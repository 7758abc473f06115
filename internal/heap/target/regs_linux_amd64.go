package target

import "golang.org/x/sys/unix"

func registers(tid int) (Regs, error) {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &r); err != nil {
		return Regs{}, err
	}
	return Regs{Thread: tid, PC: r.Rip, SP: r.Rsp, General: []uint64{
		r.Rax, r.Rbx, r.Rcx, r.Rdx, r.Rsi, r.Rdi, r.Rbp, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15,
	}}, nil
}
