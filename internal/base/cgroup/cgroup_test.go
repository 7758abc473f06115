package cgroup

import (
	"os"
	"testing"
	"testing/fstest"
)

// tree builds a file system from pairs of path and content.
func tree(files ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return fsys
}

const (
	mountV2     = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountMemory = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	mountCPU    = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
	noLimit     = "9223372036854771712\n"
)

func TestRead(t *testing.T) {
	for name, tc := range map[string]struct {
		fsys fstest.MapFS
		want Limits
	}{
		"none": {tree(), Limits{}},
		"v2": {tree("proc/self/mountinfo", mountV2, "proc/self/cgroup", "0::/user.slice/a.scope\n",
			"sys/fs/cgroup/user.slice/a.scope/memory.max", "max\n", "sys/fs/cgroup/user.slice/memory.max", "1073741824\n",
			"sys/fs/cgroup/user.slice/memory.current", "1000\n",
			"sys/fs/cgroup/user.slice/a.scope/cpu.max", "150000 100000\n", "sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"),
			Limits{Version: "v2", CPUs: 1.5, MemoryBytes: 1 << 30, MemoryUsedBytes: 1000}},
		"v2, no limits": {tree("proc/self/mountinfo", mountV2, "proc/self/cgroup", "0::/\n"), Limits{Version: "v2"}},
		"v1": {tree("proc/self/mountinfo", mountMemory+mountCPU, "proc/self/cgroup", "4:memory:/a/b\n1:cpu,cpuacct:/a\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes", noLimit, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4096000\n",
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "8192000\n", "sys/fs/cgroup/memory/a/memory.usage_in_bytes", "4096\n",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
			Limits{Version: "v1", CPUs: 0.5, MemoryBytes: 4096000, MemoryUsedBytes: 4096}},
		"hybrid": {tree("proc/self/mountinfo", mountMemory+"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			"proc/self/cgroup", "4:memory:/job\n0::/\n", "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "123456\n"),
			Limits{Version: "hybrid", MemoryBytes: 123456}},
		"container that sees the path of the host": {tree(
			"proc/self/mountinfo", "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"proc/self/cgroup", "4:memory:/docker/abc\n", "sys/fs/cgroup/memory/memory.limit_in_bytes", "777216\n"),
			Limits{Version: "v1", MemoryBytes: 777216}},
		"group outside of what is mounted": {tree(
			"proc/self/mountinfo", "30 23 0:26 /x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"proc/self/cgroup", "0::/xy\n", "sys/fs/cgroup/memory.max", "555\n", "sys/fs/cgroup/y/memory.max", "1\n"),
			Limits{Version: "v2", MemoryBytes: 555}},
		"no limit at either version": {tree("proc/self/mountinfo", mountV2+mountMemory, "proc/self/cgroup", "4:memory:/x\n0::/\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes", noLimit, "sys/fs/cgroup/memory.max", "max\n"), Limits{Version: "hybrid"}},
		"garbage": {tree("proc/self/mountinfo", "- - -\nx\n1 2 3 4 - cgroup2\n", "proc/self/cgroup", ":\n0\n\n",
			"sys/fs/cgroup/cpu.max", "1 0\n"), Limits{}},
	} {
		if got := Read(tc.fsys); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// On any machine, a limit is either absent or positive.
func TestReadHere(t *testing.T) {
	if got := Read(os.DirFS("/")); got.MemoryBytes < 0 || got.CPUs < 0 {
		t.Errorf("%+v", got)
	}
}

// Files of a kernel 6.18 with version 1, and of one of 6.1 with version 2.
const (
	statV1 = "cache 655007744\nrss 837664768\nrss_huge 0\nshmem 4096\nmapped_file 40894464\ndirty 532480\nwriteback 0\n" +
		"swap 0\npgfault 20039763\ninactive_file 200036352\nhierarchical_memory_limit 9223372036854771712\n" +
		"total_cache 655011840\ntotal_rss 837668864\ntotal_rss_huge 0\ntotal_shmem 8192\ntotal_mapped_file 40894464\n" +
		"total_dirty 532480\ntotal_writeback 4096\ntotal_swap 0\ntotal_active_file 51924992\n"
	statV2 = "anon 20705280\nfile 73400320\nkernel 1188416\nkernel_stack 163840\npagetables 819200\nsec_pagetables 0\n" +
		"percpu 0\nsock 65536\nvmalloc 0\nshmem 1048576\nzswap 0\nzswapped 0\nfile_mapped 4194304\nfile_dirty 4096\n" +
		"file_writeback 8192\nswapcached 0\nanon_thp 18874368\nfile_thp 0\ninactive_anon 20652032\nactive_anon 4096\n" +
		"inactive_file 0\nactive_file 0\nunevictable 0\nslab_reclaimable 100000\nslab_unreclaimable 18752\nslab 118752\n" +
		"workingset_refault_anon 0\npgfault 2461\nthp_fault_alloc 19\n"
)

func TestReadCharged(t *testing.T) {
	for name, tc := range map[string]struct {
		fsys fstest.MapFS
		want Charged
	}{
		"none": {tree(), Charged{}},
		"v1": {tree("proc/self/mountinfo", mountMemory, "proc/77/cgroup", "4:memory:/job\n",
			"sys/fs/cgroup/memory/job/memory.stat", statV1, "sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1500000000\n",
			"sys/fs/cgroup/memory/job/memory.kmem.usage_in_bytes", "7319318\n",
			"sys/fs/cgroup/memory/job/memory.kmem.tcp.usage_in_bytes", "12288\n"),
			Charged{Anonymous: 837668864, Cache: 655011840, Mapped: 40894464, Shared: 8192,
				Unwritten: 536576, Sockets: 12288, Kernel: 7319318}},
		"v2": {tree("proc/self/mountinfo", mountV2, "proc/77/cgroup", "0::/a.scope\n",
			"sys/fs/cgroup/a.scope/memory.stat", statV2, "sys/fs/cgroup/a.scope/memory.current", "95359552\n"),
			Charged{Anonymous: 20705280, Cache: 73400320, Mapped: 4194304, Shared: 1048576,
				Unwritten: 12288, Stacks: 163840, Tables: 819200, Slab: 118752, Sockets: 65536, Kernel: 86624}},
		"another process": {tree("proc/self/mountinfo", mountV2, "proc/78/cgroup", "0::/a.scope\n"), Charged{}},
	} {
		if got := ReadCharged(tc.fsys, 77); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}
