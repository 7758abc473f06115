package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A progress shows on a terminal how far a run is: cells done, time left, the
// current cell. In a pipe it stays silent.
type progress struct {
	w       io.Writer
	width   int // 0: silent
	total   int
	done    int
	started time.Time
	fresh   int // cells finished by this process
	spent   time.Duration
}

func newProgress(w io.Writer, total, done int) *progress {
	width, _ := isTerminal(w)
	return &progress{w: w, width: width, total: total, done: done}
}

func (p *progress) begin(c cell.Cell) {
	p.started = time.Now()
	if p.width == 0 {
		return
	}
	fmt.Fprint(p.w, "\r\x1b[K"+p.line(c))
}

func (p *progress) end() {
	d := time.Since(p.started)
	p.spent += d
	p.fresh++
	p.done++
}

// advance counts cells that were measured elsewhere; spent is the time since the
// first began.
func (p *progress) advance(cells int, spent time.Duration, last cell.Cell) {
	p.fresh, p.done, p.spent = p.fresh+cells, p.done+cells, spent
	p.begin(last)
}

// clear removes the bar, so that something else can be printed.
func (p *progress) clear() {
	if p.width > 0 {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// line is the bar, at most width-1 columns wide.
func (p *progress) line(c cell.Cell) string {
	const cells = 20
	filled := 0
	if p.total > 0 {
		filled = p.done * cells / p.total
	}
	bar := strings.Repeat("█", filled) + strings.Repeat("░", cells-filled)
	head := fmt.Sprintf("%s %d/%d%s  ", bar, p.done, p.total, p.left())
	room := p.width - 1 - len([]rune(head))
	key := []rune(c.Key())
	if room < 0 {
		return string([]rune(head)[:p.width-1])
	}
	if len(key) > room {
		key = append(key[:max(room-1, 0)], '…')
	}
	return head + string(key)
}

// left estimates the time left from the mean of the cells so far; "" before
// the first is finished.
func (p *progress) left() string {
	if p.fresh == 0 {
		return ""
	}
	d := p.spent / time.Duration(p.fresh) * time.Duration(p.total-p.done)
	return fmt.Sprintf("  %v left", d.Round(time.Second))
}
