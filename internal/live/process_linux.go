package live

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"
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

// listening returns the addresses at which this machine can reach the process:
// those of its listening TCP sockets on a loopback interface or on all
// interfaces.
func listening(pid int) ([]string, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return nil, err
	}
	files, err := p.FileDescriptorTargets()
	if err != nil {
		return nil, err
	}
	theirs, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if ours, _ := os.Readlink("/proc/self/ns/net"); theirs != ours {
		return nil, fmt.Errorf("it has a network namespace of its own, as in a container: sudo nsenter -t %[1]d -n isobar "+
			"watch %[1]d reaches them", pid)
	}
	var found []string
	for _, table := range []string{"tcp", "tcp6"} {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table)) // missing for an unavailable protocol
		for line := range strings.Lines(string(data)) {
			// sl local remote state queues timer retransmits uid timeout inode
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != "0A" || !slices.Contains(files, "socket:["+fields[9]+"]") {
				continue
			}
			if address, ok := reachable(fields[1]); ok {
				found = append(found, address)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
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

// reachable converts an address from /proc/net, in words of the machine's byte order, to
// one to connect to; ok is false for non-local addresses.
func reachable(s string) (address string, ok bool) {
	host, port, _ := strings.Cut(s, ":")
	words, err := hex.DecodeString(host)
	if err != nil || len(words)%4 != 0 || len(words) == 0 {
		return "", false
	}
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return "", false
	}
	for i := 0; i < len(words); i += 4 { // all Linux platforms that we build for are little-endian
		slices.Reverse(words[i : i+4])
	}
	ip := net.IP(words)
	switch {
	case ip.IsUnspecified() && len(words) == 4:
		ip = net.IPv4(127, 0, 0, 1)
	case ip.IsUnspecified():
		ip = net.IPv6loopback
	case !ip.IsLoopback():
		return "", false
	}
	return net.JoinHostPort(ip.String(), strconv.FormatUint(n, 10)), true
}
