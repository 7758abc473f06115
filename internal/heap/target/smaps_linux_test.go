package target

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestPagesTellsZerosApart writes some pages of a mapping, and only reads others.
func TestPagesTellsZerosApart(t *testing.T) {
	const written, read, all = 100, 60, 200
	b, err := unix.Mmap(-1, 0, all*PageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b)
	if err := unix.Madvise(b, unix.MADV_NOHUGEPAGE); err != nil {
		t.Log(err) // a kernel without huge pages
	}
	sum := byte(0)
	for i := range written + read {
		if i < written {
			b[i*PageBytes] = 1
		}
		sum += b[i*PageBytes]
	}
	if sum != written {
		t.Fatal(sum)
	}
	p := &Process{PID: os.Getpid()}
	present, alone, start := 0, 0, uint64(uintptr(unsafe.Pointer(&b[0])))
	if err := p.Pages(start, start+all*PageBytes, func(_ uint64, own bool) {
		present++
		if own {
			alone++
		}
	}); err != nil {
		t.Fatal(err)
	}
	if present != written+read || alone != written {
		t.Errorf("%d pages in memory, %d of them alone; want %d and %d", present, alone, written+read, written)
	}
}
