package gcctl

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// margin is the part of a control group's limit that the budget leaves for
// memory the Go runtime does not know of.
const margin = 0.10

// detectLimit returns the budget that the environment sets, 0 for none.
func detectLimit(fromRuntime int64) int64 {
	var group int64
	if runtime.GOOS == "linux" {
		group = groupLimit(os.DirFS("/"))
	}
	return leastLimit(fromRuntime, group)
}

func leastLimit(fromRuntime, group int64) int64 {
	limit := int64(math.MaxInt64)
	if group > 0 {
		limit = int64(float64(group) * (1 - margin))
	}
	limit = min(limit, fromRuntime)
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}

// unlimited is the least value of memory.limit_in_bytes that stands for no
// limit: version 1 writes the largest multiple of the page size instead.
const unlimited = 1 << 60

// groupLimit returns the lowest memory limit of the control groups, version 1
// or 2, that this process is in; 0 for none.
func groupLimit(fsys fs.FS) int64 {
	var limit int64
	groups := groupsOf(fsys)
	data, _ := fs.ReadFile(fsys, "proc/self/mountinfo")
	for line := range strings.Lines(string(data)) {
		// ID parent device root dir options [tags] - type source super-options
		before, after, _ := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if len(left) < 5 || len(right) < 3 {
			continue
		}
		var file, group string
		switch {
		case right[0] == "cgroup2":
			file, group = "memory.max", groups[""]
		case right[0] == "cgroup" && hasOption(right[2], "memory"):
			file, group = "memory.limit_in_bytes", groups["memory"]
		default:
			continue
		}
		dir, root := strings.TrimPrefix(unescape(left[4]), "/"), unescape(left[3])
		for name := range upward(root, group) {
			data, _ := fs.ReadFile(fsys, path.Join(dir, name, file))
			n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
			if err == nil && n > 0 && n < unlimited && (limit == 0 || n < limit) {
				limit = n
			}
		}
	}
	return limit
}

// groupsOf returns this process's group by controller; "" is version 2.
func groupsOf(fsys fs.FS) map[string]string {
	groups := map[string]string{}
	data, _ := fs.ReadFile(fsys, "proc/self/cgroup")
	for line := range strings.Lines(string(data)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			groups[controller] = fields[2]
		}
	}
	return groups
}

func hasOption(options, name string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if option == name {
			return true
		}
	}
	return false
}

// unescape decodes the octal escapes of mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// upward yields the group and its ancestors below a mount that shows root and
// what is under it. Inside a container without a namespace of its own the
// group's path is the host's: then the mount's own directory stands for it.
func upward(root, group string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if group == "" {
			return
		}
		rel := "/"
		if below, ok := strings.CutPrefix(group+"/", strings.TrimSuffix(root, "/")+"/"); ok {
			rel = path.Join("/", below)
		}
		for ; ; rel = path.Dir(rel) {
			if !yield(rel) || rel == "/" {
				return
			}
		}
	}
}
