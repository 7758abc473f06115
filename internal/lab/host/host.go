// Package host describes the machine: [Fingerprint] identifies it, and [Start]
// begins to measure what else happens on it.
//
// Everything comes from /proc, /sys and the cgroup file systems, versions 1 and
// 2, without a library or privileges. On platforms without these files the
// fields stay empty, or -1 in a [cell.Noise]: unknown is never reported as
// none. Several goroutines may call the functions at once.
package host

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/base/cgroup"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// root is the file system that the functions read; paths have no leading slash. Tests replace it.
var root = os.DirFS("/")

// Fingerprint describes this machine and the running binary.
func Fingerprint() cell.Machine {
	m := fingerprint(runtime.NumCPU())
	m.OS, m.Arch = runtime.GOOS, runtime.GOARCH
	m.GoVersion = runtime.Version()
	m.Isobar = Version()
	if name, err := os.Hostname(); err == nil {
		digest := sha256.Sum256([]byte(name))
		m.Hostname = hex.EncodeToString(digest[:4])
	}
	return m
}

// fingerprint fills in what the files say.
func fingerprint(cpus int) cell.Machine {
	group := cgroup.Read(root)
	m := cell.Machine{
		Kernel:      readLine("proc/sys/kernel/osrelease"),
		CPU:         cpuModel(),
		CPUs:        cpus,
		CPUQuota:    group.CPUs,
		MemoryBytes: kiloBytes("proc/meminfo", "MemTotal"),
		Cgroup:      group.Version,
		Virtual:     virtual(),
		Governor:    readLine("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		HugePages:   selected(readLine("sys/kernel/mm/transparent_hugepage/enabled")),
		Clocksource: readLine("sys/devices/system/clocksource/clocksource0/current_clocksource"),
	}
	if group.MemoryBytes > 0 && (m.MemoryBytes == 0 || group.MemoryBytes < m.MemoryBytes) {
		m.MemoryBytes = group.MemoryBytes
	}
	warn := func(text string) { m.Warnings = append(m.Warnings, text) }
	if m.Governor != "" && m.Governor != "performance" {
		warn("the CPU frequency governor is " + m.Governor + ": clock speed varies with load, and results vary with it")
	}
	if m.Clocksource != "" && m.Clocksource != "tsc" && m.Clocksource != "kvm-clock" &&
		m.Clocksource != "arch_sys_counter" {
		warn("the clock source is " + m.Clocksource + ": reading the clock is a system call")
	}
	if m.CPUQuota > 0 && m.CPUQuota < float64(cpus) {
		warn("the cgroup allows " + strconv.FormatFloat(m.CPUQuota, 'g', 3, 64) + " of " + strconv.Itoa(cpus) +
			" CPUs: bursts are throttled")
	}
	return m
}

// Version is the module version of the running binary, or "devel" with the
// revision if known.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}

// cpuModel reads the CPU model. cpuinfo names it on amd64; on arm64 it gives
// numbers, which are returned as they are.
func cpuModel() string {
	if v := keyValue("proc/cpuinfo", "model name"); v != "" {
		return v
	}
	implementer, part := keyValue("proc/cpuinfo", "CPU implementer"), keyValue("proc/cpuinfo", "CPU part")
	if implementer != "" || part != "" {
		return strings.TrimSpace("implementer " + implementer + " part " + part)
	}
	return ""
}

// virtual names the layers between the program and the hardware as far as they
// are visible: container runtime, hypervisor, product.
func virtual() string {
	var layers []string
	for _, mark := range []struct{ file, name string }{
		{".dockerenv", "docker"}, {"run/.containerenv", "podman"},
	} {
		if _, err := fs.Stat(root, mark.file); err == nil {
			layers = append(layers, mark.name)
		}
	}
	if slices.Contains(strings.Fields(keyValue("proc/cpuinfo", "flags")), "hypervisor") {
		layers = append(layers, "virtual machine")
	}
	for _, file := range []string{"sys/hypervisor/type", "sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name"} {
		if s := readLine(file); s != "" && len(layers) > 0 {
			layers = append(layers, s)
		}
	}
	return strings.Join(layers, ", ")
}

// selected returns the bracketed word of a sysfs choice such as
// "always [madvise] never".
func selected(choice string) string {
	_, rest, _ := strings.Cut(choice, "[")
	word, _, _ := strings.Cut(rest, "]")
	return word
}

// AvailableBytes is how much memory is available without reclaiming other
// programs' memory: the kernel's estimate or, if less, the room left below the
// cgroup limit. ok is false if neither is known.
func AvailableBytes() (n int64, ok bool) {
	n = kiloBytes("proc/meminfo", "MemAvailable")
	group := cgroup.Read(root)
	if group.MemoryBytes > 0 {
		if left := max(group.MemoryBytes-group.MemoryUsedBytes, 0); n == 0 || left < n {
			return left, true
		}
	}
	return n, n > 0
}

// kiloBytes reads a value that a file gives in kB, in bytes; 0 if it is missing.
func kiloBytes(name, key string) int64 {
	fields := strings.Fields(keyValue(name, key))
	if len(fields) != 2 || fields[1] != "kB" {
		return 0
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || n < 0 || n > 1<<50 {
		return 0
	}
	return n << 10
}

// keyValue returns the value of the first "key : value" line of a file.
func keyValue(name, key string) string {
	data, _ := fs.ReadFile(root, name)
	for line := range strings.Lines(string(data)) {
		k, v, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// readLine returns the first line of a file, or "".
func readLine(name string) string {
	data, _ := fs.ReadFile(root, name)
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}
