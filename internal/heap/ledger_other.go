//go:build !linux

package heap

import (
	"context"
	"errors"
	"fmt"
)

// ReadLedger fails: this system does not say where resident memory is.
func ReadLedger(_ context.Context, pid int, _ Config) (*Ledger, error) {
	return nil, fmt.Errorf("heap: ledger of process %d: %w: Linux only", pid, errors.ErrUnsupported)
}
