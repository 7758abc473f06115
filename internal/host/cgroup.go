package host

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// cgroup is what the control groups of this process allow it. The limits of
// all ancestors apply, so each value is the lowest on the way to the root.
type cgroup struct {
	version     string  // "v1", "v2", "hybrid" (v1 controllers beside a v2 tree) or ""
	cpuQuota    float64 // in CPUs; 0 for none
	memoryBytes int64   // 0 for none
	memoryUsed  int64   // in the group that sets memoryBytes
}

// unlimited is the least value of memory.limit_in_bytes that stands for no
// limit: version 1 writes the largest multiple of the page size instead.
const unlimited = 1 << 60

func readCgroup(fsys fs.FS) cgroup {
	paths := cgroupPaths(fsys)
	mounts := cgroupMounts(fsys)
	var g cgroup
	_, unified := mounts[""]
	switch {
	case unified && len(mounts) == 1:
		g.version = "v2"
	case unified:
		g.version = "hybrid"
	case len(mounts) > 0:
		g.version = "v1"
	}
	limit := func(dir, max, used string) {
		n, err := strconv.ParseInt(readLine(fsys, path.Join(dir, max)), 10, 64)
		if err != nil || n <= 0 || n >= unlimited || (g.memoryBytes > 0 && n >= g.memoryBytes) {
			return
		}
		g.memoryBytes = n
		g.memoryUsed, _ = strconv.ParseInt(readLine(fsys, path.Join(dir, used)), 10, 64)
	}
	quota := func(quota, period string) {
		q, err1 := strconv.ParseFloat(quota, 64)
		p, err2 := strconv.ParseFloat(period, 64)
		if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
			return
		}
		if cpus := q / p; g.cpuQuota == 0 || cpus < g.cpuQuota {
			g.cpuQuota = cpus
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

// cgroupPaths returns this process's group by controller; "" is version 2.
func cgroupPaths(fsys fs.FS) map[string]string {
	paths := map[string]string{}
	data, _ := fs.ReadFile(fsys, "proc/self/cgroup")
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

// A mount is where a hierarchy is mounted and which of its groups is the root
// of what is visible there.
type mount struct{ dir, root string }

// cgroupMounts returns the mounted hierarchies by controller; "" is version 2.
// Hierarchies without a controller, such as systemd's, count by their name.
func cgroupMounts(fsys fs.FS) map[string]mount {
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

// upward yields the directories of the group and its ancestors that are
// visible at the mount. Inside a container without a namespace of its own the
// group's path is the host's: then the mount's own directory stands for it.
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
