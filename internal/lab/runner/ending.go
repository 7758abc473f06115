package runner

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// record returns the child's own record if it wrote one, otherwise a record that says
// why it did not.
func (e ending) record(c cell.Cell) cell.Record {
	rec, err := decodeRecord(e.output)
	switch {
	case e.killed != nil:
		rec = cell.Record{Err: e.killed}
	case err == nil && e.state.ExitCode() == 0:
	case len(e.output) > maxRecord:
		rec = crash("the child's standard output is not a record: it exceeds %d MiB", maxRecord>>20)
	case signaled(e.state):
		rec = cell.Record{Err: &cell.Failure{Kind: cell.FailKilled,
			Message: "the child was ended by a signal that the runner did not send: " +
				e.state.String() + " (the kernel sends SIGKILL when memory runs out)"}}
	case e.stderr.crash != "":
		rec = cell.Record{Err: &cell.Failure{Kind: crashKind(e.stderr.crash), Message: e.stderr.crash}}
	case e.state.ExitCode() != 0:
		rec = crash("the child exited with status %d and no record%s", e.state.ExitCode(), e.stderr.last())
	default:
		rec = crash("the child's standard output is not a record: %v", err)
	}
	rec.Cell = c
	if rec.Stderr == "" {
		rec.Stderr = string(e.stderr.end)
	}
	if rec.Err != nil && rec.Err.Kind == cell.FailExit {
		rec.Err.Message += cmp.Or(e.stderr.last(), lastLine(rec.Stdout))
	}
	return rec
}

func crash(format string, args ...any) cell.Record {
	return cell.Record{Err: &cell.Failure{Kind: cell.FailCrash, Message: fmt.Sprintf(format, args...)}}
}

// decodeRecord accepts exactly one record.
func decodeRecord(output []byte) (cell.Record, error) {
	r := bytes.NewReader(output)
	var rec cell.Record
	if err := cell.Decode(r, &rec); err != nil {
		return cell.Record{}, err
	}
	// Decode may have read ahead: look at what follows the line instead.
	_, rest, _ := bytes.Cut(output, []byte("\n"))
	if len(bytes.TrimSpace(rest)) > 0 {
		return cell.Record{}, errors.New("unexpected data after the record")
	}
	return rec, nil
}

// crashKind distinguishes refusals of memory from other crashes.
func crashKind(line string) cell.FailureKind {
	if strings.Contains(line, "out of memory") || strings.Contains(line, "cannot allocate memory") {
		return cell.FailMemory
	}
	return cell.FailCrash
}

// tail keeps the end of a stream and the first line of a crash in it. One
// goroutine writes; others read after it is done.
type tail struct {
	end   []byte
	line  []byte // the beginning of the current line
	crash string // first line of a Go runtime crash
}

const (
	maxTail = 16 << 10
	maxLine = 1 << 10
)

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(b []byte) (int, error) {
	t.end = append(t.end, b...)
	if over := len(t.end) - maxTail; over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
	}
	for rest := b; len(rest) > 0; {
		text, after, ended := bytes.Cut(rest, []byte("\n"))
		t.line = append(t.line, text[:min(len(text), maxLine-len(t.line))]...)
		if ended {
			t.endLine()
		}
		rest = after
	}
	return len(b), nil
}

func (t *tail) endLine() {
	for _, prefix := range []string{"panic: ", "fatal error: "} {
		if t.crash == "" && bytes.HasPrefix(t.line, []byte(prefix)) {
			t.crash = string(t.line)
		}
	}
	t.line = t.line[:0]
}

func (t *tail) last() string { return lastLine(string(t.end)) }

// lastLine returns ": " and the last non-empty line, or "".
func lastLine(text string) string {
	text = strings.TrimRight(text, "\n\r\t ")
	line := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if line == "" {
		return ""
	}
	return ": " + line[:min(len(line), maxLine)]
}
