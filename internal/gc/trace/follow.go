package trace

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Follow reads r to its end on platforms where single writes cannot be distinguished. It
// calls each for every cycle as soon as its line is complete. Other output goes to own,
// line by line; an unfinished line is held back until it is complete, or longer than any
// line of the runtime. The Trace has no Cycles.
//
// The runtime writes a line in pieces. If lines of the program fall between two pieces, or
// an unfinished line of the program precedes them, Follow reassembles the line if that
// yields a line of the format.
func Follow(r io.Reader, own io.Writer, each func(Cycle)) (Trace, error) {
	f := follower{own: own, each: each}
	in := bufio.NewReader(r) // a line longer than the buffer comes in pieces
	var err error
	for piece := false; err == nil || piece; {
		var b []byte
		before := piece
		b, err = in.ReadSlice('\n')
		if piece = errors.Is(err, bufio.ErrBufferFull); piece || before {
			f.pass(b)
		} else {
			f.line(b)
		}
	}
	f.release()
	return f.Trace, errors.Join(failure(err), f.err)
}

// patience is the number of the program's lines that may interrupt a line of the runtime.
const patience = 8

type follower struct {
	Trace
	own  io.Writer
	each func(Cycle)
	err  error // the first error from own

	broken []byte // starts like a runtime line but has no end
	waited int    // lines since then
}

// line processes a whole line including its end, or the unfinished last one.
func (f *follower) line(b []byte) {
	text, ok := bytes.CutSuffix(b, []byte("\n"))
	if ok && (f.found(text) || f.mend(text)) {
		return
	}
	if at := beginning(text); at >= 0 && ok {
		if f.found(text[at:]) { // after an unfinished line of the program
			f.Mended++
			f.pass(text[:at])
			return
		}
		f.release()
		f.pass(text[:at])
		f.broken = append(f.broken[:0], text[at:]...)
		f.waited = 0
		return
	}
	f.pass(b)
	if f.waited++; f.waited >= patience {
		f.release()
	}
}

// beginning returns where a runtime line seems to start in text, or -1.
func beginning(text []byte) int {
	for from := 0; ; {
		at := bytes.Index(text[from:], []byte("gc "))
		if at < 0 {
			return -1
		}
		at += from
		number, _, ok := bytes.Cut(text[at+3:], []byte(" @"))
		if ok && isNumber(number) {
			return at
		}
		from = at + 3
	}
}

// mend checks whether text completes the broken line; whatever else text holds
// belongs to the program.
func (f *follower) mend(text []byte) bool {
	if !ends(text) {
		return false
	}
	for cut := min(len(f.broken), maxLine-len(text)); cut > len("gc "); cut-- {
		if f.found(append(bytes.Clone(f.broken[:cut]), text...)) {
			f.Mended++
			f.broken = f.broken[cut:]
			f.release()
			return true
		}
	}
	return false
}

// release gives up on a broken line: it belongs to the program.
func (f *follower) release() {
	if len(f.broken) > 0 {
		f.pass(append(f.broken, '\n'))
	}
	f.broken = f.broken[:0]
}

// ends reports whether text ends like a runtime line: a quick test that rejects most others.
func ends(text []byte) bool {
	return bytes.HasSuffix(text, []byte(" P")) || bytes.HasSuffix(text, []byte(" P (forced)"))
}

// maxLine exceeds the runtime's longest line.
const maxLine = 512

func (f *follower) found(text []byte) bool {
	if !bytes.HasPrefix(text, []byte("gc ")) || !ends(text) || len(text) > maxLine {
		return false
	}
	c, err := ParseLine(string(text))
	if err != nil {
		return false
	}
	f.number(&c)
	f.each(c)
	return true
}

func (f *follower) pass(b []byte) {
	if len(b) > 0 && f.err == nil {
		_, f.err = f.own.Write(b)
	}
}
