// Ledger plants 32 MB of one class of resident memory. With a second argument it also
// applies the ledger's remedy. It prints how much it planted, and waits until its
// standard input ends.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"github.com/isobar-go/isobar/internal/base/offheap"
)

const planted = 32 << 20

// These variables hold the memory.
var (
	values  [][64]byte
	sparse  []*[128]byte
	packed  [][128]byte
	texts   []string
	entries map[int]int
	mapping []byte
	buffers = sync.Pool{New: func() any { return new([]byte) }}
	release = make(chan struct{})
)

var sink []byte

// held is how many bytes of the class there are without the remedy.
var held uint64 = planted

var plants = map[string]func(remedied bool){
	"live": func(bool) {
		values = make([][64]byte, planted/64)
		for i := range values {
			values[i][0] = 1
		}
	},
	"garbage": func(remedied bool) {
		debug.SetGCPercent(-1)
		for range planted / 1024 {
			sink = make([]byte, 1024)
			sink[0] = 1
		}
		if remedied {
			debug.FreeOSMemory()
		}
	},
	"peak": func(remedied bool) {
		debug.SetGCPercent(100_000) // the runtime keeps the room for the next peak
		sink = make([]byte, planted)
		touch(sink)
		sink = nil
		runtime.GC()
		if remedied {
			debug.FreeOSMemory()
		}
	},
	"fragmented": func(remedied bool) { // one in 64 slots of a span stays
		sparse = make([]*[128]byte, planted/128)
		for i := range sparse {
			sparse[i] = new([128]byte)
			sparse[i][0] = 1
		}
		for i := range sparse {
			if i%64 != 0 {
				sparse[i] = nil
			} else if remedied {
				packed, sparse[i] = append(packed, *sparse[i]), nil
			}
		}
		held = planted / 64 * 63
		debug.FreeOSMemory()
	},
	"stacks": func(remedied bool) {
		n := planted / 8192
		if remedied {
			n = 64
		}
		var started sync.WaitGroup
		for range n {
			started.Add(1)
			go deep(&started)
		}
		started.Wait()
	},
	"shrunk": func(remedied bool) {
		before := live()
		entries = make(map[int]int)
		for i := range 1 << 20 {
			entries[i] = i
		}
		for i := range 1<<20 - 10 {
			delete(entries, i)
		}
		held = live() - before
		if remedied {
			left := entries
			entries = make(map[int]int)
			for k, v := range left {
				entries[k] = v
			}
		}
		debug.FreeOSMemory()
	},
	"pool": func(remedied bool) {
		debug.FreeOSMemory() // the next collection may empty the pool
		debug.SetGCPercent(-1)
		var burst []*[]byte
		for range planted >> 18 {
			b := make([]byte, 256<<10)
			touch(b)
			burst = append(burst, &b)
		}
		for _, b := range burst {
			if !remedied || cap(*b) <= 64<<10 {
				buffers.Put(b)
			}
		}
		if burst = nil; remedied {
			debug.FreeOSMemory()
		}
	},
	"duplicates": func(remedied bool) { // 256 copies each of four texts
		once := make(map[string]string)
		for i := range 1024 {
			text := strings.Repeat(fmt.Sprint(i%4), planted/1024)
			if known, ok := once[text]; ok && remedied {
				text = known
			}
			once[text] = text
			texts = append(texts, text)
		}
		debug.FreeOSMemory()
	},
	"offheap": func(bool) {
		var err error
		mapping, err = offheap.For("planting").Map(planted, false)
		must(err)
		touch(mapping)
	},
	"file": func(remedied bool) {
		f := written()
		var err error
		mapping, err = syscall.Mmap(int(f.Fd()), 0, planted, syscall.PROT_READ, syscall.MAP_SHARED)
		must(err)
		for i := 0; i < len(mapping); i += 4096 {
			sum += mapping[i]
		}
		if remedied { // what the kernel does when memory is short
			must(syscall.Madvise(mapping, syscall.MADV_DONTNEED))
		}
	},
	"huge": func(remedied bool) { // one page in 16 is used
		const huge, noHuge = 14, 15 // MADV_HUGEPAGE, MADV_NOHUGEPAGE
		mapping = anonymous()
		advice := huge
		if remedied {
			advice = noHuge
		}
		must(syscall.Madvise(mapping, advice))
		for i := 0; i < len(mapping); i += 64 << 10 {
			mapping[i] = 1
		}
		if !remedied && hugeBytes() < planted {
			held = 0 // the kernel has none, or none left
		}
	},
	"cache": func(remedied bool) {
		f := written()
		_, err := io.Copy(io.Discard, f)
		must(err)
		if remedied {
			const dontNeed = 4 // POSIX_FADV_DONTNEED
			if _, _, e := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0); e != 0 {
				panic(e)
			}
		}
	},
}

var sum byte

// deep has a stack of 8 KB.
//
//go:noinline
func deep(started *sync.WaitGroup) {
	var frame [5000]byte
	touch(frame[:])
	started.Done()
	<-release
	sink = append(sink, frame[len(sink)%len(frame)])
}

// hugeBytes returns how many bytes the program has in huge pages.
func hugeBytes() (sum uint64) {
	text, err := os.ReadFile("/proc/self/smaps")
	must(err)
	for line := range strings.Lines(string(text)) {
		var kb uint64
		if n, _ := fmt.Sscanf(line, "AnonHugePages: %d kB", &kb); n == 1 {
			sum += kb << 10
		}
	}
	return sum
}

// live returns the live bytes according to the runtime.
func live() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// written returns a new file in the working directory that is on disk.
func written() *os.File {
	f, err := os.Create(filepath.Join(".", "planted"))
	must(err)
	_, err = f.Write(make([]byte, planted))
	must(errors.Join(err, f.Sync()))
	_, err = f.Seek(0, io.SeekStart)
	must(err)
	debug.FreeOSMemory()
	return f
}

// anonymous returns a mapping aligned to huge pages.
func anonymous() []byte {
	const huge = 2 << 20
	b, err := syscall.Mmap(-1, 0, planted+huge, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	must(err)
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & (huge - 1)
	return b[skip : skip+planted : skip+planted]
}

func touch(b []byte) {
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
}

func main() {
	if procs := os.Getenv("ISOBAR_PROCS"); procs != "" { // the control group to join
		must(os.WriteFile(procs, []byte(fmt.Sprint(os.Getpid())), 0))
	}
	plants[os.Args[1]](len(os.Args) > 2)
	fmt.Println("live", held, 0)
	io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(sparse)
}
