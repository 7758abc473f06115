package session

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/show/text"
)

// A Progress shows the progress of a run on a terminal: finished cells, time left, current
// cell. It is silent elsewhere.
type Progress struct {
	liveLine
	total   int
	done    int
	started time.Time
	fresh   int // cells that this process finished
	spent   time.Duration
}

func NewProgress(w io.Writer, total, done int) *Progress {
	return &Progress{liveLine: newLiveLine(w), total: total, done: done}
}

func (p *Progress) Begin(c cell.Cell) {
	p.started = time.Now()
	if p.width > 0 {
		p.say(p.line(c))
	}
}

func (p *Progress) End() {
	p.spent += time.Since(p.started)
	p.fresh++
	p.done++
}

// advance counts cells measured elsewhere; spent is the time since the first of
// them began.
func (p *Progress) advance(cells int, spent time.Duration, last cell.Cell) {
	p.fresh, p.done, p.spent = p.fresh+cells, p.done+cells, spent
	p.Begin(last)
}

// line is the bar, at most width-1 columns wide.
func (p *Progress) line(c cell.Cell) string {
	const cells = 20
	filled := 0
	if p.total > 0 {
		filled = p.done * cells / p.total
	}
	bar := strings.Repeat("█", filled) + strings.Repeat("░", cells-filled)
	head := fmt.Sprintf("%s %d/%d%s  ", bar, p.done, p.total, p.left())
	return text.Shorten(head+text.Clean(cell.Readable(c.Key())), p.width-1)
}

// left estimates the time left from the mean of the cells so far. It is ""
// before the first one finishes.
func (p *Progress) left() string {
	if p.fresh == 0 {
		return ""
	}
	d := p.spent / time.Duration(p.fresh) * time.Duration(p.total-p.done)
	return fmt.Sprintf("  %v left", d.Round(time.Second))
}
