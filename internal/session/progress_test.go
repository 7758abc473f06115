package session

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestProgressFitsTheTerminal(t *testing.T) {
	c := cell.Cell{Config: cell.Config{Workload: "strategies",
		Params: map[string]string{"strategy": strings.Repeat("long", 30)}, GC: cell.DefaultGC}}
	for _, width := range []int{40, 80, 200} {
		p := &Progress{liveLine: liveLine{&bytes.Buffer{}, width}, total: 40, done: 13, fresh: 3, spent: 5 * time.Second}
		line := p.line(c)
		if n := len([]rune(line)); n >= width {
			t.Errorf("width %d: the line has %d columns: %q", width, n, line)
		}
		if !strings.Contains(line, "13/40") {
			t.Errorf("width %d: no count in %q", width, line)
		}
	}
	var out bytes.Buffer
	silent := NewProgress(&out, 10, 0)
	silent.Begin(c)
	silent.End()
	silent.Clear()
	if out.Len() != 0 {
		t.Errorf("no terminal: the progress printed %q", out.String())
	}
}
