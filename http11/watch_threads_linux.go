package http11

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// shortWindow is how long threads are observed.
const shortWindow = 2 * time.Millisecond

// longWait is a wait for a CPU that explains much of a loopTick.
const longWait = loopTick / 2

// shortOfCPU reports whether a thread of this process could run for shortWindow
// and hardly did, or has waited long for a CPU since waited was true: a leader on
// it makes no turn although its handler does not hold it. Without /proc it reports
// false.
func shortOfCPU(waited map[int]time.Duration) bool {
	looked := unix.Gettid() // the thread on which the watch has waited
	begin, before := time.Now(), readyThreads()
	time.Sleep(shortWindow)
	enough := time.Since(begin) / 8
	for id, now := range readyThreads() {
		if last, ok := before[id]; ok && last.waits == now.waits && now.ran-last.ran < enough {
			return true
		}
	}
	slept := unix.Gettid() // the one on which it has just waited
	for id, now := range waitedForCPU() {
		if id != looked && id != slept && now-waited[id] >= longWait {
			return true
		}
	}
	return false
}

// waitedForCPU returns how long each thread of this process has waited for a CPU in total,
// until it last got one: the second figure of its schedstat.
func waitedForCPU() map[int]time.Duration {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	all := make(map[int]time.Duration, len(threads))
	for _, entry := range threads {
		stat, err := os.ReadFile("/proc/self/task/" + entry.Name() + "/schedstat")
		if err != nil {
			continue // it has ended, or the kernel does not count
		}
		id, _ := strconv.Atoi(entry.Name()) // a number
		if fields := bytes.Fields(stat); len(fields) > 1 {
			ns, _ := strconv.ParseInt(string(fields[1]), 10, 64) // a number
			all[id] = time.Duration(ns)
		}
	}
	return all
}

// A readying is a thread that is running or runnable.
type readying struct {
	waits string        // how often it has waited for something other than a CPU
	ran   time.Duration // its CPU time
}

// readyThreads returns the running or runnable threads of this process by
// number, except the calling one.
func readyThreads() map[int]readying {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own := unix.Gettid()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	found := map[int]readying{}
	for _, entry := range threads {
		id, err := strconv.Atoi(entry.Name())
		waits, ready := readyThread(entry.Name())
		if err != nil || id == own || !ready {
			continue
		}
		// The thread's CPU clock: see clock_getcpuclockid(3).
		var ran unix.Timespec
		if unix.ClockGettime(int32(^id<<3|6), &ran) == nil { // it has not ended
			found[id] = readying{waits, time.Duration(ran.Nano())}
		}
	}
	return found
}

// readyThread reports whether a thread is running or runnable, and how often it
// was not: see proc_pid_status(5).
func readyThread(thread string) (waits string, ready bool) {
	status, err := os.ReadFile("/proc/self/task/" + thread + "/status")
	if err != nil || !bytes.Contains(status, []byte("\nState:\tR")) {
		return "", false
	}
	_, rest, _ := bytes.Cut(status, []byte("\nvoluntary_ctxt_switches:\t"))
	count, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(count), true
}
