package target

import "golang.org/x/sys/unix"

func registers(tid int) (Regs, error) {
	var r unix.PtraceRegsArm64
	if err := unix.PtraceGetRegSetArm64(tid, 1, &r); err != nil { // NT_PRSTATUS
		return Regs{}, err
	}
	return Regs{Thread: tid, PC: r.Pc, SP: r.Sp, General: r.Regs[:]}, nil
}
