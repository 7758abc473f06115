package gcctl

import "syscall"

// capMemory has the kernel refuse this process more than n bytes of writable
// private memory: what the runtime has released counts as long as it is mapped.
// The runtime ends a process that is refused memory.
func capMemory(n uint64) error {
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: n, Max: n})
}
