package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Bounds are the limits of a Group; a zero field sets no limit.
type Bounds struct {
	CPUs        float64 // quota per 100 ms
	MemoryBytes int64   // includes the page cache; no swap in addition
}

// A Group is a control group for one program, like that of a container. The limits of its
// ancestors apply as well. The zero Group has no process and no bound. One goroutine owns it; it must not be copied.
type Group struct {
	root        string
	cpu, memory branch
}

// A branch is the group's directory in the tree of one controller; "" if the group does not
// limit that controller.
type branch struct {
	dir string
	v2  bool // version 2, where both controllers share a tree
}

// Usage is what a group's counters say.
type Usage struct {
	Periods, Throttled uint64        // of 100 ms: those in which something ran, and those whose quota was used up
	ThrottledTime      time.Duration // summed over CPUs
	OOMKills           uint64        // processes that the kernel killed for the memory limit
	PeakBytes          int64         // most memory charged, with page cache; 0 if memory is not bounded
}

// period is the period of CPU quotas.
const period = 100 * time.Millisecond

// ErrNotAllowed is wrapped by errors of New if this process may not create control groups.
var ErrNotAllowed = errors.New("control groups cannot be made here")

// remedy says how to get permission.
const remedy = "run as root, or in a scope that systemd delegates (systemd-run --user --scope -p Delegate=yes " +
	"COMMAND); a container needs a writable /sys/fs/cgroup"

var made atomic.Uint64 // numbers the groups of this process

// New makes an empty group with the bounds below this process's own or, if version 2
// forbids that, beside it. root is "/" or a stand-in. New removes groups left behind by
// dead processes. Errors wrap ErrNotAllowed and say what to do.
func New(root string, b Bounds) (*Group, error) {
	fsys := os.DirFS(root)
	mounts, paths := mountsOf(fsys), pathsOf(fsys, "self")
	name := fmt.Sprintf("isobar-%d-%d", os.Getpid(), made.Add(1))
	g := &Group{root: root}
	var err error
	bound := func(controller string) branch {
		var dir string
		m, v1 := mounts[controller]
		switch {
		case v1:
			dir, err = g.makeV1(m, paths[controller], name)
		case g.cpu.v2:
			dir = g.cpu.dir
		default:
			dir, err = g.makeV2(mounts[""], paths[""], name)
		}
		return branch{dir, !v1}
	}
	if b.CPUs > 0 {
		g.cpu = bound("cpu")
	}
	if err == nil && b.MemoryBytes > 0 {
		g.memory = bound("memory")
	}
	if err == nil {
		err = g.set(b)
	}
	if err != nil {
		g.Remove()
		return nil, fmt.Errorf("cgroup: %w: %w: %s", ErrNotAllowed, err, remedy)
	}
	return g, nil
}

// makeV1 makes a group below this process's own in the tree of one controller.
func (g *Group) makeV1(m mount, own, name string) (string, error) {
	for above := range m.upward(own) {
		if _, missing := os.Stat(filepath.Join(g.root, above)); missing != nil {
			continue
		}
		g.sweep(above)
		dir := path.Join(above, name)
		if err := os.Mkdir(filepath.Join(g.root, dir), 0o755); err != nil {
			return "", err
		}
		return dir, nil
	}
	return "", fmt.Errorf("%s: no group of this process", m.dir)
}

// makeV2 makes a group in the nearest group that delegates both controllers. A group that
// contains processes can delegate only if it is the root of the tree.
func (g *Group) makeV2(m mount, own, name string) (string, error) {
	err := errors.New("no group above this process hands down the controllers cpu and memory")
	for above := range m.upward(own) {
		control := path.Join(above, "cgroup.subtree_control")
		if !handsDown(readLine(os.DirFS(g.root), control)) {
			// EBUSY if the group has processes of its own.
			g.write(above, "cgroup.subtree_control", "+cpu +memory")
		}
		if !handsDown(readLine(os.DirFS(g.root), control)) {
			continue
		}
		g.sweep(above)
		dir := path.Join(above, name)
		if err = os.Mkdir(filepath.Join(g.root, dir), 0o755); err == nil {
			return dir, nil
		}
	}
	return "", err
}

func handsDown(controllers string) bool {
	list := " " + controllers + " "
	return strings.Contains(list, " cpu ") && strings.Contains(list, " memory ")
}

// sweep removes the groups of dead processes.
func (g *Group) sweep(above string) {
	entries, _ := os.ReadDir(filepath.Join(g.root, above))
	for _, e := range entries {
		name, ours := strings.CutPrefix(e.Name(), "isobar-")
		pid, _, numbered := strings.Cut(name, "-")
		if _, err := strconv.Atoi(pid); !ours || !numbered || err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(g.root, "proc", pid)); errors.Is(err, fs.ErrNotExist) {
			os.Remove(filepath.Join(g.root, above, e.Name())) // refused while processes are in it
		}
	}
}

// set writes the bounds.
func (g *Group) set(b Bounds) error {
	var errs []error
	if dir := g.cpu.dir; dir != "" {
		quota := max(int64(b.CPUs*float64(period.Microseconds())), 1000) // the minimum that the kernel accepts
		if g.cpu.v2 {
			errs = append(errs, g.write(dir, "cpu.max", fmt.Sprintf("%d %d", quota, period.Microseconds())))
		} else {
			errs = append(errs, g.write(dir, "cpu.cfs_period_us", strconv.FormatInt(period.Microseconds(), 10)),
				g.write(dir, "cpu.cfs_quota_us", strconv.FormatInt(quota, 10)))
		}
	}
	if dir := g.memory.dir; dir != "" {
		limit := strconv.FormatInt(b.MemoryBytes, 10)
		if g.memory.v2 {
			errs = append(errs, g.write(dir, "memory.max", limit))
			g.write(dir, "memory.swap.max", "0") // missing in a kernel without swap accounting
		} else {
			errs = append(errs, g.write(dir, "memory.limit_in_bytes", limit))
			g.write(dir, "memory.memsw.limit_in_bytes", limit)
		}
	}
	return errors.Join(errs...)
}

func (g *Group) write(dir, name, value string) error {
	return os.WriteFile(filepath.Join(g.root, dir, name), []byte(value), 0o644)
}

// dirs returns the directories of the group: one, or one per controller.
func (g *Group) dirs() []string {
	var out []string
	for _, b := range []branch{g.cpu, g.memory} {
		if b.dir != "" && (len(out) == 0 || out[0] != b.dir) {
			out = append(out, b.dir)
		}
	}
	return out
}

// Procs returns the files to which a process writes its ID in order to join.
func (g *Group) Procs() []string {
	var out []string
	for _, dir := range g.dirs() {
		out = append(out, filepath.Join(g.root, dir, "cgroup.procs"))
	}
	return out
}

// Usage reads the group's counters. Those that the kernel does not report are 0.
func (g *Group) Usage() Usage {
	fsys := os.DirFS(g.root)
	var u Usage
	if g.cpu.dir != "" {
		stat := numbers(fsys, path.Join(g.cpu.dir, "cpu.stat"))
		u.Periods, u.Throttled = stat["nr_periods"], stat["nr_throttled"]
		u.ThrottledTime = time.Duration(stat["throttled_time"]) + time.Duration(stat["throttled_usec"])*time.Microsecond
	}
	if g.memory.dir != "" {
		events, peak := "memory.oom_control", "memory.max_usage_in_bytes"
		if g.memory.v2 {
			events, peak = "memory.events", "memory.peak"
		}
		u.OOMKills = numbers(fsys, path.Join(g.memory.dir, events))["oom_kill"]
		u.PeakBytes, _ = strconv.ParseInt(readLine(fsys, path.Join(g.memory.dir, peak)), 10, 64)
	}
	return u
}

// numbers reads a file with a name and a number per line.
func numbers(fsys fs.FS, name string) map[string]uint64 {
	out := map[string]uint64{}
	data, _ := fs.ReadFile(fsys, name)
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			out[key], _ = strconv.ParseUint(value, 10, 64)
		}
	}
	return out
}

// Remove kills the processes in the group and removes it. It waits up to two seconds for them to end.
func (g *Group) Remove() error {
	var errs []error
	for _, dir := range g.dirs() {
		errs = append(errs, g.removeDir(dir))
	}
	return errors.Join(errs...)
}

func (g *Group) removeDir(dir string) error {
	const within, between = 2 * time.Second, 5 * time.Millisecond
	for deadline := time.Now().Add(within); ; time.Sleep(between) {
		data, _ := fs.ReadFile(os.DirFS(g.root), path.Join(dir, "cgroup.procs"))
		for pid := range strings.FieldsSeq(string(data)) {
			n, err := strconv.Atoi(pid)
			if p, found := os.FindProcess(n); err == nil && n > 1 && found == nil {
				p.Kill()
			}
		}
		err := os.Remove(filepath.Join(g.root, dir))
		if err == nil || errors.Is(err, fs.ErrNotExist) || time.Now().After(deadline) {
			return err
		}
	}
}
