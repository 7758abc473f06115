package cgroup

import (
	"io/fs"
	"path"
	"strconv"
)

// Charged is the memory in bytes that is charged to a control group and its descendants.
type Charged struct {
	Anonymous uint64
	Cache     uint64 // page cache, including tmpfs
	Mapped    uint64 // part of Cache: mapped by processes
	Shared    uint64 // part of Cache: tmpfs and shared memory
	Unwritten uint64 // part of Cache: dirty or in writeback
	Stacks    uint64 // kernel stacks of threads
	Tables    uint64 // page tables
	Slab      uint64 // the kernel's objects: inodes, dentries, sockets
	Sockets   uint64 // socket buffers
	Kernel    uint64 // other memory of the kernel; with version 1 all of it, as that counts only the total
}

// ReadCharged reads the memory charged to the control group of a process. Figures that the
// kernel does not report are 0.
func ReadCharged(fsys fs.FS, pid int) Charged {
	paths, mounts := pathsOf(fsys, strconv.Itoa(pid)), mountsOf(fsys)
	for dir := range mounts["memory"].upward(paths["memory"]) {
		one := func(name string) uint64 { return number(fsys, path.Join(dir, name)) }
		n := numbers(fsys, path.Join(dir, "memory.stat"))
		return Charged{
			Anonymous: n["total_rss"], Cache: n["total_cache"], Mapped: n["total_mapped_file"], Shared: n["total_shmem"],
			Unwritten: n["total_dirty"] + n["total_writeback"],
			Sockets:   one("memory.kmem.tcp.usage_in_bytes"), Kernel: one("memory.kmem.usage_in_bytes"),
		}
	}
	for dir := range mounts[""].upward(paths[""]) {
		n := numbers(fsys, path.Join(dir, "memory.stat"))
		c := Charged{
			Anonymous: n["anon"], Cache: n["file"], Mapped: n["file_mapped"], Shared: n["shmem"],
			Unwritten: n["file_dirty"] + n["file_writeback"],
			Stacks:    n["kernel_stack"], Tables: n["pagetables"], Slab: n["slab"], Sockets: n["sock"],
		}
		if part := c.Stacks + c.Tables + c.Slab; n["kernel"] > part { // since Linux 5.18
			c.Kernel = n["kernel"] - part
		}
		return c
	}
	return Charged{}
}

// number reads a file with a single number, 0 if that fails.
func number(fsys fs.FS, name string) uint64 {
	n, err := strconv.ParseUint(readLine(fsys, name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
