package live

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"

	"github.com/isobar-go/isobar/internal/base/loopback"
)

func executable(pid int) string { return fmt.Sprintf("/proc/%d/exe", pid) }

// look reads /proc/PID/stat.
func look(pid int) (kernelReading, error) {
	var s procfs.ProcStat
	p, err := procfs.NewProc(pid)
	if err == nil {
		s, err = p.Stat()
	}
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ESRCH), s.State == "Z", s.State == "X":
		return kernelReading{}, errNoProcess
	case err != nil:
		return kernelReading{}, err
	}
	return kernelReading{
		name: s.Comm, started: strconv.FormatUint(s.Starttime, 10),
		resident: float64(s.ResidentMemory()), cpu: s.CPUTime(), threads: float64(s.NumThreads),
		stopped: s.State == "T" || s.State == "t",
	}, nil
}

// listening returns the addresses at which this machine can reach the process.
func listening(pid int) ([]string, error) {
	found, err := loopback.Listening(pid)
	if err != nil {
		return nil, err
	}
	theirs, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if ours, _ := os.Readlink("/proc/self/ns/net"); theirs != ours {
		return nil, fmt.Errorf("it has a network namespace of its own, as in a container: sudo nsenter -t %[1]d -n isobar "+
			"watch %[1]d reaches them", pid)
	}
	return found, nil
}

// answers reports whether the server is the process, as far as its answer says. In a
// container the process has another ID.
func answers(pid int, s *sampler) bool {
	if s.pid != 0 {
		p, err := procfs.NewProc(pid)
		if err != nil {
			return false
		}
		status, err := p.NewStatus()
		return err == nil && slices.Contains(status.NSpids, uint64(s.pid))
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil &&
		(s.cmdline == "" || strings.TrimRight(string(line), "\x00") == strings.TrimRight(s.cmdline, "\x00"))
}
