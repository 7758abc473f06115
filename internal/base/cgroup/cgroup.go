// Package cgroup reads the limits that control groups, version 1 or 2, set for a process,
// and the memory charged to its group. Missing or unreadable files count as no limit, as on
// systems without control groups. [New] makes a group for another program.
//
// No other package reads these files, so the machine's fingerprint and the memory budget of
// the GC controller use the same figures.
package cgroup

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Limits are the limits of this process's control groups. The limits of all ancestors
// apply, so each value is the lowest on the path to the root.
type Limits struct {
	Version         string  // "v1", "v2", "hybrid" (v1 controllers beside a v2 tree) or ""
	CPUs            float64 // quota; 0 means none
	MemoryBytes     int64   // 0 means none
	MemoryUsedBytes int64   // in the group that sets MemoryBytes
}

// unlimited is the least value of memory.limit_in_bytes that means no limit:
// version 1 writes the largest multiple of the page size instead.
const unlimited = 1 << 60

// Read reads the limits from fsys, which is the root file system or a stand-in.
func Read(fsys fs.FS) Limits { return read(fsys, "self") }

// ReadProcess reads the limits of another process.
func ReadProcess(fsys fs.FS, pid int) Limits { return read(fsys, strconv.Itoa(pid)) }

func read(fsys fs.FS, process string) Limits {
	paths := pathsOf(fsys, process)
	mounts := mountsOf(fsys)
	var g Limits
	_, unified := mounts[""]
	switch {
	case unified && len(mounts) == 1:
		g.Version = "v2"
	case unified:
		g.Version = "hybrid"
	case len(mounts) > 0:
		g.Version = "v1"
	}
	limit := func(dir, max, used string) {
		n, err := strconv.ParseInt(readLine(fsys, path.Join(dir, max)), 10, 64)
		if err != nil || n <= 0 || n >= unlimited || (g.MemoryBytes > 0 && n >= g.MemoryBytes) {
			return
		}
		g.MemoryBytes = n
		g.MemoryUsedBytes, _ = strconv.ParseInt(readLine(fsys, path.Join(dir, used)), 10, 64)
	}
	quota := func(quota, period string) {
		q, err1 := strconv.ParseFloat(quota, 64)
		p, err2 := strconv.ParseFloat(period, 64)
		if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
			return
		}
		if cpus := q / p; g.CPUs == 0 || cpus < g.CPUs {
			g.CPUs = cpus
		}
	}
	for dir := range mounts["memory"].upward(paths["memory"]) {
		limit(dir, "memory.limit_in_bytes", "memory.usage_in_bytes")
	}
	for dir := range mounts["cpu"].upward(paths["cpu"]) {
		quota(readLine(fsys, path.Join(dir, "cpu.cfs_quota_us")), readLine(fsys, path.Join(dir, "cpu.cfs_period_us")))
	}
	for dir := range mounts[""].upward(paths[""]) {
		limit(dir, "memory.max", "memory.current")
		if q, p, ok := strings.Cut(readLine(fsys, path.Join(dir, "cpu.max")), " "); ok {
			quota(q, p)
		}
	}
	return g
}

// pathsOf returns a process's group by controller; "" is version 2.
func pathsOf(fsys fs.FS, process string) map[string]string {
	paths := map[string]string{}
	data, _ := fs.ReadFile(fsys, "proc/"+process+"/cgroup")
	for line := range strings.Lines(string(data)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			paths[controller] = fields[2]
		}
	}
	return paths
}

// A mount says where a hierarchy is mounted and which of its groups is the root
// of the visible part.
type mount struct{ dir, root string }

// mountsOf returns the mounted hierarchies by controller; "" is version 2.
// Hierarchies without a controller, such as systemd's, are listed by name.
func mountsOf(fsys fs.FS) map[string]mount {
	mounts := map[string]mount{}
	data, _ := fs.ReadFile(fsys, "proc/self/mountinfo")
	for line := range strings.Lines(string(data)) {
		// ID parent device root dir options [tags] - type source super-options
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		m := mount{dir: strings.TrimPrefix(unescape(left[4]), "/"), root: unescape(left[3])}
		switch right[0] {
		case "cgroup2":
			mounts[""] = m
		case "cgroup":
			for option := range strings.SplitSeq(right[2], ",") {
				if option != "rw" && option != "ro" {
					mounts[option] = m
				}
			}
		}
	}
	return mounts
}

// unescape decodes the octal escapes of mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// upward yields the visible directories of the group and its ancestors at the
// mount. In a container without its own namespace the group's path is the
// host's; the mount's own directory then stands in for it.
func (m mount) upward(group string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if m.dir == "" || group == "" {
			return
		}
		rel := "/"
		if below, ok := strings.CutPrefix(group+"/", strings.TrimSuffix(m.root, "/")+"/"); ok {
			rel = path.Join("/", below)
		}
		for ; ; rel = path.Dir(rel) {
			if !yield(path.Join(m.dir, rel)) || rel == "/" {
				return
			}
		}
	}
}

// readLine returns the first line of a file, or "".
func readLine(fsys fs.FS, name string) string {
	data, _ := fs.ReadFile(fsys, name)
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}
