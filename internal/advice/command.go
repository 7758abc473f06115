package advice

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A command runs programs in a directory, each in its own process group: when the
// context ends, what the programs started ends with them.
type command struct {
	dir string
	env []string // added to the environment of this process
}

// of returns a program ready to start.
func (c command) of(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	cmd.SysProcAttr = groupAttr()
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run returns the standard output of a program. If it fails, the error ends with its
// last lines of output, those of standard error last, or with the beginning of a panic.
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

// compile builds the test binary of a package.
func (c command) compile(ctx context.Context, binary, pkg string, flags ...string) error {
	_, err := c.run(ctx, "go", append(append([]string{"test", "-c", "-vet=off", "-o", binary}, flags...), pkg)...)
	return err
}

// lastLines returns the last n lines, or the first of a panic: these say why.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if at := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
	}); at >= 0 {
		return strings.Join(lines[at:min(at+n, len(lines))], "\n")
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
