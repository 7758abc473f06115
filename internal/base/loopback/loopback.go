// Package loopback tells from the text of an address whether it is this machine's own, and where its processes listen.
package loopback

import (
	"net"
	"strings"
)

// Is reports whether an address, with or without a port, can only mean this
// machine: a loopback IP address, localhost, or a name below it (RFC 6761,
// section 6.3). It resolves no name.
func Is(address string) bool {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	name := strings.ToLower(strings.TrimSuffix(address, "."))
	ip := net.ParseIP(strings.Trim(address, "[]"))
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || ip != nil && ip.IsLoopback()
}
