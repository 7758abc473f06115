package live

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
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
	network, err := procfs.NewFS(fmt.Sprintf("/proc/%d", pid)) // as the process sees it
	return addresses(network, files), err
}

// addresses returns where to reach the listening sockets among the files.
func addresses(network procfs.FS, files []string) (found []string) {
	const listen = 0x0a
	tcp, _ := network.NetTCP() // a protocol that is not available has no sockets
	tcp6, _ := network.NetTCP6()
	for _, socket := range slices.Concat(tcp, tcp6) {
		if socket.St != listen || !slices.Contains(files, fmt.Sprintf("socket:[%d]", socket.Inode)) {
			continue
		}
		ip := socket.LocalAddr
		switch {
		case ip.IsUnspecified() && ip.To4() != nil:
			ip = net.IPv4(127, 0, 0, 1)
		case ip.IsUnspecified():
			ip = net.IPv6loopback
		case !ip.IsLoopback():
			continue
		}
		found = append(found, net.JoinHostPort(ip.String(), strconv.FormatUint(socket.LocalPort, 10)))
	}
	slices.Sort(found)
	return slices.Compact(found)
}
