package advice

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A command runs programs in a directory, each in a process group of its own,
// so that what they started ends with them when the context does.
type command struct {
	dir string
	env []string // beyond that of this process
}

// of returns a program that can be started.
func (c command) of(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	cmd.SysProcAttr = groupAttr()
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run returns what the program wrote to its standard output. The error of one
// that failed ends with the last lines it wrote, those of its standard error last.
func (c command) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd := c.of(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return out.Bytes(), fmt.Errorf("%s: %w: %s", name, err, lastLines(out.String()+"\n"+errs.String(), 12))
	}
	return out.Bytes(), nil
}

// compile makes the program of a package's tests.
func (c command) compile(ctx context.Context, binary, pkg string, flags ...string) error {
	_, err := c.run(ctx, "go", append(append([]string{"test", "-c", "-vet=off", "-o", binary}, flags...), pkg)...)
	return err
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
