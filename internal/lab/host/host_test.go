package host

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// here is the file system of this machine.
var here = root

// use makes the functions read the given files, pairs of path and content, until the
// test ends or calls use without files.
func use(t *testing.T, files ...string) {
	fsys := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	root = fsys
	t.Cleanup(func() { root = here })
}

const mountV2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

func TestFingerprint(t *testing.T) {
	use(t,
		"proc/sys/kernel/osrelease", "6.1.0\n",
		"proc/cpuinfo", "processor\t: 0\nmodel name\t: Example CPU @ 3 GHz: fast\nflags\t\t: fpu hypervisor sse\n",
		"proc/meminfo", "MemTotal:       2048 kB\nMemAvailable:   1024 kB\n",
		"sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n",
		"sys/class/dmi/id/sys_vendor", "QEMU\n",
		"proc/self/mountinfo", mountV2, "proc/self/cgroup", "0::/\n",
		"sys/fs/cgroup/memory.max", "1572864\n", "sys/fs/cgroup/memory.current", "1048576\n", "sys/fs/cgroup/cpu.max", "100000 100000\n",
	)
	m := fingerprint(4)
	if m.Kernel != "6.1.0" || m.CPU != "Example CPU @ 3 GHz: fast" || m.MemoryBytes != 1572864 || m.CPUQuota != 1 ||
		m.HugePages != "madvise" || m.Clocksource != "hpet" || m.Governor != "powersave" || m.Cgroup != "v2" ||
		m.Virtual != "virtual machine, QEMU" || len(m.Warnings) != 3 {
		t.Errorf("fingerprint = %+v", m)
	}
	if n, ok := AvailableBytes(); !ok || n != 524288 {
		t.Errorf("available = %d, %v; want the room left below the limit", n, ok)
	}
	use(t)
	if n, ok := AvailableBytes(); ok {
		t.Errorf("available without files = %d", n)
	}
	empty := fingerprint(1)
	if empty.MemoryBytes != 0 || empty.Virtual != "" || empty.Warnings != nil {
		t.Errorf("fingerprint without files = %+v", empty)
	}
	use(t, "proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n")
	if got := cpuModel(); got != "implementer 0x41 part 0xd0c" {
		t.Errorf("arm64 CPU = %q", got)
	}
	root = here
	own := Fingerprint()
	if own.CPUs < 1 || own.GoVersion == "" || own.Isobar == "" || len(own.Hostname) > 8 {
		t.Errorf("this machine: %+v", own)
	}
}

func TestNoise(t *testing.T) {
	use(t,
		"proc/stat", "cpu  1000 0 500 8000 100 0 0 50 0 0\ncpu0 1 2 3\n",
		"proc/pressure/cpu", "some avg10=0.00 avg60=0.12 avg300=0.34 total=1000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
	before := read()
	use(t,
		"proc/stat", "cpu  1600 100 800 8700 200 0 0 250 0 0\n",
		"proc/pressure/cpu", "some avg10=0.00 avg60=0.12 avg300=0.34 total=3500000\n")
	after := read()
	before.children, after.children = 1, 5
	got := before.until(after, 10*time.Second)
	want := cell.Noise{Steal: 0.1, CPUPressure: 0.25, MemoryPressure: -1, OtherCPU: 0.6}
	if diff := max(abs(got.Steal-want.Steal), abs(got.CPUPressure-want.CPUPressure), abs(got.OtherCPU-want.OtherCPU)); diff > 1e-9 || got.MemoryPressure != -1 {
		t.Errorf("noise = %+v, want %+v", got, want)
	}
	unknown := cell.Noise{Steal: -1, CPUPressure: -1, MemoryPressure: -1, OtherCPU: -1}
	for _, stat := range []string{"", "cpu 1 2\n", "cpu 1 2 3 4 x 6 7 8 9\n", "intr 1 2 3 4 5 6 7 8 9\n"} {
		use(t, "proc/stat", stat, "proc/pressure/cpu", "some total=x\n")
		r := read()
		if got := r.until(r, time.Second); got != unknown {
			t.Errorf("noise of %q = %+v, want all unknown", strings.TrimSpace(stat), got)
		}
	}
	root = here
	if got := Start()(); got.Steal > 1 || got.CPUPressure > 1 {
		t.Errorf("this machine: %+v", got)
	}
}

func TestProcesses(t *testing.T) {
	use(t,
		"proc/10/task/10/children", "11 12 \n", "proc/10/task/15/children", "13\n",
		"proc/12/task/12/children", "14 10\n", "proc/14/task/14/children", "",
		"proc/10/statm", "100 7 1 1 0 1 0\n", "proc/11/statm", "0 0 0 0 0 0 0\n",
		"proc/10/task/10/schedstat", "5000 2000 3\n", "proc/10/task/15/schedstat", "70 no 3\n",
		"proc/10/status", "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n",
	)
	if got, want := Descendants(10), []int{10, 11, 12, 13, 14}; !slices.Equal(got, want) {
		t.Errorf("descendants = %v, want %v", got, want)
	}
	if n, ok := RSSBytes(10); !ok || n != 7*pageBytes {
		t.Errorf("rss = %d, %v", n, ok)
	}
	if n, ok := PeakRSSBytes(10); !ok || n != 2048<<10 {
		t.Errorf("peakRSS = %d, %v", n, ok)
	}
	times := map[int]ThreadTime{9: {On: 1}}
	ThreadTimes(10, times)
	if len(times) != 2 || times[10] != (ThreadTime{5000, 2000}) || times[9].On != 1 {
		t.Errorf("thread times %v", times)
	}
	for _, pid := range []int{11, 12} {
		_, ok := RSSBytes(pid)
		if _, peak := PeakRSSBytes(pid); ok || peak {
			t.Errorf("memory of process %d is known", pid)
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }

func TestDisturbances(t *testing.T) {
	for code, n := range map[string]cell.Noise{
		"":                {Steal: -1, CPUPressure: -1, MemoryPressure: -1, OtherCPU: -1},
		"steal":           {Steal: 0.03},
		"cpu-pressure":    {CPUPressure: 0.5},
		"memory-pressure": {MemoryPressure: 0.5},
		"other-cpu":       {OtherCPU: 0.7},
	} {
		found := Disturbances(n)
		if code == "" && len(found) == 0 {
			continue
		}
		if len(found) != 1 || found[0].Code != code {
			t.Errorf("%+v: %v, want %q", n, found, code)
		}
	}
}
