package runner

import (
	"context"
	"fmt"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// runDriven drives a task. It stops after three quarters of the cell's timeout.
func runDriven(rec *cell.Record, task workload.Driven) error {
	ctx := context.Background()
	if limit := rec.Cell.Timeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, rec.Started.Add(limit/4*3))
		defer cancel()
	}
	before := allocated()
	d, err := task.Drive(ctx)
	setAllocs(rec, before, d.Done)
	d.Record(rec)
	return err
}

// runBeside runs a cell in another process while this one runs its own. Failures are errors.
func runBeside(ctx context.Context, c cell.Cell) (cell.Record, error) {
	rec, _, err := New(Config{}).Run(ctx, c)
	if err == nil && rec.Err != nil {
		err = rec.Err
	}
	if err != nil {
		return cell.Record{}, fmt.Errorf("runner: %s beside this cell: %w", c.Workload, err)
	}
	return rec, nil
}
