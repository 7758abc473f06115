//go:build !linux

package heap

import (
	"context"
	"errors"
	"fmt"

	"github.com/isobar-go/isobar/internal/heap/graph"
	"github.com/isobar-go/isobar/internal/heap/image"
	"github.com/isobar-go/isobar/internal/heap/target"
)

// ReadLedger fails: this system does not show where resident memory is.
func ReadLedger(_ context.Context, pid int, _ Config) (*Ledger, error) {
	return nil, fmt.Errorf("heap: ledger of process %d: %w: Linux only", pid, errors.ErrUnsupported)
}

// account is never called: there is no process to read.
func account(string, *target.Process, *image.Image, *graph.Graph) (*Ledger, error) {
	return nil, errors.ErrUnsupported
}
