package cgroup

import (
	"io/fs"
	"path"
	"strconv"
)

// Charged is the memory that is charged to a control group and those below, in bytes.
type Charged struct {
	Anonymous uint64
	Cache     uint64 // pages of files, those in memory only (tmpfs) included
	Mapped    uint64 // of Cache, by a process
	Shared    uint64 // of Cache, in memory only
	Unwritten uint64 // of Cache, not on disk yet
	Stacks    uint64 // of threads, in the kernel
	Tables    uint64 // of pages
	Slab      uint64 // the kernel's objects: inodes, dentries, sockets
	Sockets   uint64 // buffers
	Kernel    uint64 // further memory of the kernel; all of it with version 1, which counts only that
}

// ReadCharged reads what is charged to the control group of a process. What the
// kernel does not say is 0.
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

// number reads a file of one number, 0 if there is none.
func number(fsys fs.FS, name string) uint64 {
	n, err := strconv.ParseUint(readLine(fsys, name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
