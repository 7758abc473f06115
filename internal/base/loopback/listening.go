package loopback

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Listening returns the addresses at which this machine can reach a process: those of its listening TCP sockets on a
// loopback interface or on all interfaces. It needs Linux's /proc.
func Listening(pid int) ([]string, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	sockets := map[string]bool{}
	for _, e := range entries {
		target, _ := os.Readlink(filepath.Join(dir, e.Name())) // "" for a file closed since
		sockets[target] = true
	}
	var found []string
	for _, table := range []string{"tcp", "tcp6"} {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table)) // missing for an unavailable protocol
		for line := range strings.Lines(string(data)) {
			// sl local remote state queues timer retransmits uid timeout inode
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != "0A" || !sockets["socket:["+fields[9]+"]"] {
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
