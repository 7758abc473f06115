package http11

import (
	"context"
	"fmt"
	"net"
)

// ListenReusePort listens on an address that other listeners of the same user
// share (SO_REUSEPORT), in this process or another; the kernel distributes
// connections among them. On platforms without it the error is
// errors.ErrUnsupported.
func ListenReusePort(network, address string) (net.Listener, error) {
	config := net.ListenConfig{Control: reusePort}
	l, err := config.Listen(context.Background(), network, address)
	if err != nil {
		return nil, fmt.Errorf("http11: ListenReusePort: %w; use net.Listen, or another address", err)
	}
	return l, nil
}
