package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A Trace is the information in a stream besides the program's own output.
type Trace struct {
	Cycles []Cycle // in the order in which their lines ended
	// Relayed counts the gctrace lines that arrived whole.
	Relayed int
	// Cut is the number of bytes in lines that the program's end cut off.
	Cut int
	// Streams is the number of processes that printed cycles, as far as the
	// numbering distinguishes them.
	Streams int
	// Gaps counts the cycles with an out-of-sequence number: earlier lines were
	// lost, or the program made these up.
	Gaps int
	// Mended counts the lines that [Follow] reassembled because the program's own
	// output had split or preceded them.
	Mended int

	last []uint64 // latest N of each stream
}

// number assigns c to the process that printed it.
func (t *Trace) number(c *Cycle) {
	c.Stream = slices.Index(t.last, c.N-1)
	if c.Stream < 0 {
		if c.N != 1 {
			t.Gaps++
		}
		c.Stream = len(t.last)
		t.last = append(t.last, 0)
		t.Streams++
	}
	t.last[c.Stream] = c.N
}

// PacketBytes is the largest packet that a pipe in packet mode delivers: longer
// writes arrive as several packets.
const PacketBytes = 4096

// ReadPackets reads r to its end. Each Read must return exactly one write, as a
// pipe opened with O_DIRECT does on Linux. Everything outside gctrace lines
// goes to own, line by line.
//
// If a program itself writes the runtime's fragments, one by one and in order,
// ReadPackets cannot distinguish it from the runtime.
func ReadPackets(r io.Reader, own io.Writer) (Trace, error) {
	var t Trace
	var open []*partial
	rest := ownWriter{w: own}
	var err error
	for buf := make([]byte, PacketBytes); err == nil; {
		var n int
		if n, err = r.Read(buf); n > 0 {
			open = t.packet(open, buf[:n], &rest)
		}
	}
	for _, p := range open {
		if t.cut(p) {
			t.Cut += len(p.text)
		} else {
			rest.Write(p.text)
		}
	}
	rest.flush()
	t.Relayed = rest.relayed
	return t, errors.Join(failure(err), rest.err)
}

// cut reports whether an unfinished line is a runtime line cut off by the program's end: it
// has its time, or its number continues those of whole lines.
func (t *Trace) cut(p *partial) bool {
	const sure = 4 // "gc ", a number, " @", a time
	if p.step >= sure {
		return true
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(string(p.text), "gc "), " ")
	n, err := strconv.ParseUint(number, 10, 64)
	return len(t.last) > 0 && (number == "" || err == nil && slices.Contains(t.last, n-1))
}

// ReadLines reads r to its end like [Follow], and keeps the cycles.
func ReadLines(r io.Reader, own io.Writer) (Trace, error) {
	var cycles []Cycle
	t, err := Follow(r, own, func(c Cycle) { cycles = append(cycles, c) })
	t.Cycles = cycles
	return t, err
}

// failure returns the error that ended a stream, nil for io.EOF.
func failure(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("trace: read: %w", err)
}

// packet processes one packet and returns the lines still unfinished.
func (t *Trace) packet(open []*partial, packet []byte, rest *ownWriter) []*partial {
	for i, p := range open {
		if !p.take(packet) {
			continue
		}
		if p.step == len(grammar) {
			c, err := ParseLine(string(bytes.TrimSuffix(p.text, []byte("\n"))))
			if err != nil {
				rest.Write(p.text)
			} else {
				t.number(&c)
				t.Cycles = append(t.Cycles, c)
			}
			open = slices.Delete(open, i, i+1)
		}
		return open
	}
	// This limit keeps a program that repeatedly writes "gc " from growing the
	// list; any excess is its own output.
	const most = 64
	p := &partial{}
	if len(open) < most && p.take(packet) {
		return append(open, p)
	}
	rest.Write(packet)
	return open
}

// A partial is a line whose fragments have arrived up to step.
type partial struct {
	text []byte
	step int
}

// take adds the packet if it is the next fragment.
func (p *partial) take(packet []byte) bool {
	for step := p.step; step < len(grammar); step++ {
		f := grammar[step]
		if f.matches(packet) {
			p.text = append(p.text, packet...)
			p.step = step + 1
			if f.text == "%" && bytes.Equal(packet, []byte("%: ")) {
				p.step += 2 // Go before 1.26 writes sign and colon together
			}
			return true
		}
		if !f.optional {
			return false
		}
	}
	return false
}

// A fragment is one write of the runtime: a fixed text or a number.
type fragment struct {
	text     string // "" for a number
	optional bool
}

func (f fragment) matches(packet []byte) bool {
	switch f.text {
	case "":
		return isNumber(packet)
	case "%":
		return string(packet) == "%" || string(packet) == "%: "
	}
	return string(packet) == f.text
}

func isNumber(packet []byte) bool {
	if len(packet) == 0 || len(packet) > 24 {
		return false
	}
	for i, c := range packet {
		if (c < '0' || c > '9') && c != '.' && (c != '-' || i > 0) {
			return false
		}
	}
	return true
}

// grammar is the fragment sequence of a line; see gcMarkTermination in runtime/mgc.go.
// Fragments that some releases do not print are optional.
var grammar = func() []fragment {
	n := fragment{}
	lit := func(s string) fragment { return fragment{text: s} }
	maybe := func(s string) fragment { return fragment{text: s, optional: true} }
	old := fragment{optional: true}
	return []fragment{
		lit("gc "), n, lit(" @"), n, lit("s "), n, lit("%"),
		maybe(" (checking for goroutine leaks)"), lit(": "),
		n, lit("+"), n, lit("+"), n, maybe("+"), old, maybe("+"), old, lit(" ms clock, "),
		n, lit("+"), n, maybe("+"), old, maybe("+"), old, lit("/"), n, lit("/"), n, lit("+"), n, lit(" ms cpu, "),
		n, lit("->"), n, lit("->"), n, lit(" MB, "), n, lit(" MB goal, "),
		n, maybe(" MB stacks, "), old, maybe(" MB globals, "), old, lit(" P"),
		maybe(" (forced)"), lit("\n"),
	}
}()

// ownWriter passes on the program's own output by lines and holds back gctrace
// lines.
type ownWriter struct {
	w       io.Writer
	relayed int    // lines held back
	line    []byte // part of the current line not yet passed on
	begun   bool   // part of the line was passed on
	err     error  // the first error of w
}

// longLine exceeds the length of any gctrace line.
const longLine = 1024

func (o *ownWriter) Write(b []byte) {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n') + 1
		if end == 0 {
			o.line = append(o.line, b...)
			if len(o.line) > longLine {
				o.pass()
				o.begun = true
			}
			return
		}
		o.line = append(o.line, b[:end]...)
		b = b[end:]
		o.flush()
	}
}

// flush ends the current line.
func (o *ownWriter) flush() {
	if !o.begun && bytes.HasPrefix(o.line, []byte("gc ")) && len(o.line) <= longLine {
		if _, err := ParseLine(string(bytes.TrimSuffix(o.line, []byte("\n")))); err == nil {
			o.relayed++
			o.line = o.line[:0]
		}
	}
	o.pass()
	o.begun = false
}

func (o *ownWriter) pass() {
	if len(o.line) > 0 && o.err == nil {
		_, o.err = o.w.Write(o.line)
	}
	o.line = o.line[:0]
}
