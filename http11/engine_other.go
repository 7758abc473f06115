//go:build !linux

package http11

import (
	"context"
	"errors"
	"net"
)

// loops exist on Linux only.
type loops struct{}

func newLoops(*Server) (*loops, error) { return nil, errors.ErrUnsupported }

func (*loops) take(net.Conn, context.Context) bool { return false }
func (*loops) poke()                               {}
func (*loops) end()                                {}
