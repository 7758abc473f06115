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
