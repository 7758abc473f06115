package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

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

// runBeside runs a cell in a process beside this one, in the same process
// group, so it ends with this process at the latest. Failures are errors.
func runBeside(ctx context.Context, c cell.Cell) (cell.Record, error) {
	fail := func(err error) (cell.Record, error) {
		return cell.Record{}, fmt.Errorf("runner: %s beside this cell: %w", c.Workload, err)
	}
	exe, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	var out bytes.Buffer
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, exe, ChildArg)
	cmd.Env = childEnv(os.Environ(), c, "", nil)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	stdin, err := cmd.StdinPipe() // Wait closes it; closing it earlier would end the process
	if err != nil {
		return fail(err)
	}
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	encodeErr := cell.Encode(stdin, c)
	waitErr := cmd.Wait()
	rec, decodeErr := decodeRecord(out.Bytes())
	switch err := errors.Join(encodeErr, decodeErr, waitErr); {
	case ctx.Err() != nil:
		return fail(context.Cause(ctx))
	case err != nil:
		return fail(fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String())))
	case rec.Err != nil:
		return fail(rec.Err)
	}
	return rec, nil
}
