package live

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func executable(pid int) string { return fmt.Sprintf("/proc/%d/exe", pid) }

// clockTicks is how many ticks a second the kernel counts in /proc: USER_HZ,
// which is 100 on every architecture that Go supports.
const clockTicks = 100

// look reads /proc/PID/stat.
func look(pid int) (kernelReading, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			return kernelReading{}, errNoProcess
		}
		return kernelReading{}, err
	}
	// PID (name) state ...: the name may contain anything.
	from, to := strings.IndexByte(string(b), '('), strings.LastIndexByte(string(b), ')')
	if from < 0 || to < from {
		return kernelReading{}, fmt.Errorf("unexpected /proc/%d/stat", pid)
	}
	fields := strings.Fields(string(b[to+1:])) // from field 3 on, as numbered in proc(5)
	if len(fields) < 22 {
		return kernelReading{}, fmt.Errorf("unexpected /proc/%d/stat", pid)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return kernelReading{}, errNoProcess
	}
	number := func(field int) float64 {
		v, _ := strconv.ParseFloat(fields[field-3], 64)
		return v
	}
	return kernelReading{
		name: string(b[from+1 : to]), started: fields[22-3],
		resident: number(24) * float64(os.Getpagesize()), cpu: (number(14) + number(15)) / clockTicks, threads: number(20),
	}, nil
}

// listening returns the addresses at which this machine can reach the process:
// those of its listening TCP sockets on a loopback interface or on all
// interfaces.
func listening(pid int) ([]string, error) {
	sockets, err := socketsOf(pid)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, table := range []string{"tcp", "tcp6"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			continue // the protocol is not available
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			// sl local remote state queues timer retransmits uid timeout inode
			fields := strings.Fields(lines.Text())
			if len(fields) < 10 || fields[3] != "0A" || !sockets[fields[9]] {
				continue
			}
			if address, ok := reachable(fields[1]); ok && !slices.Contains(found, address) {
				found = append(found, address)
			}
		}
		f.Close()
	}
	slices.Sort(found)
	return found, nil
}

// socketsOf returns the inodes of the process's open sockets.
func socketsOf(pid int) (map[string]bool, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	sockets := map[string]bool{}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // closed meanwhile
		}
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			sockets[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return sockets, nil
}

// reachable turns an address from /proc/net, in words of the machine's byte
// order, into one to connect to; ok is false for non-local addresses.
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
	for i := 0; i < len(words); i += 4 { // every Linux that we build for is little-endian
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
	return net.JoinHostPort(ip.String(), strconv.Itoa(int(n))), true
}
