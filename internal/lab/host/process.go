package host

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// Descendants returns pid and its descendants. A process whose parent has died
// is no longer a descendant. If the platform does not say, it returns pid
// alone.
func Descendants(pid int) []int {
	pids := []int{pid}
	seen := map[int]bool{pid: true}
	for i := 0; i < len(pids); i++ {
		for _, child := range Children(pids[i]) {
			if !seen[child] {
				seen[child] = true
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// Children returns the children of a process, zombies too; none if the platform does not say.
func Children(pid int) (pids []int) {
	dir := path.Join("proc", strconv.Itoa(pid), "task")
	threads, _ := fs.ReadDir(root, dir)
	for _, thread := range threads {
		for child := range strings.FieldsSeq(readLine(path.Join(dir, thread.Name(), "children"))) {
			if n, err := strconv.Atoi(child); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// RSSBytes is the resident memory of the process. ok is false if it is gone or
// a zombie, or if the platform does not say.
func RSSBytes(pid int) (n int64, ok bool) {
	fields := strings.Fields(readLine(path.Join("proc", strconv.Itoa(pid), "statm")))
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil || pages <= 0 {
		return 0, false
	}
	return pages * pageBytes, true
}

var pageBytes = int64(os.Getpagesize())

// PeakRSSBytes is the largest resident memory of the process since it started
// or since ResetPeakRSS.
func PeakRSSBytes(pid int) (n int64, ok bool) {
	n = kiloBytes(path.Join("proc", strconv.Itoa(pid), "status"), "VmHWM")
	return n, n > 0
}

// ResetPeakRSS sets this process's peak to its current resident memory. It
// reports whether the platform can do that.
func ResetPeakRSS() bool {
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil
}

// A ThreadTime is the time that a thread has spent on a CPU and waiting for one, in
// nanoseconds since it began.
type ThreadTime struct{ On, Waited uint64 }

// ThreadTimes updates times, by thread, with all threads of the process. Threads that have ended
// keep their entry. If the platform does not say, it stores nothing.
func ThreadTimes(pid int, times map[int]ThreadTime) {
	dir := path.Join("proc", strconv.Itoa(pid), "task")
	threads, _ := fs.ReadDir(root, dir)
	for _, thread := range threads {
		fields := strings.Fields(readLine(path.Join(dir, thread.Name(), "schedstat")))
		id, err := strconv.Atoi(thread.Name())
		if err != nil || len(fields) != 3 {
			continue
		}
		on, err1 := strconv.ParseUint(fields[0], 10, 64)
		waited, err2 := strconv.ParseUint(fields[1], 10, 64)
		if err1 == nil && err2 == nil {
			times[id] = ThreadTime{on, waited}
		}
	}
}
