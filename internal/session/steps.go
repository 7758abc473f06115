package session

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/internal/tune"
)

// steps shows what tuning does, how far it is and the time left: on a terminal
// in one line, elsewhere in a line every pipePace.
type steps struct {
	liveLine
	last time.Time
	now  func() time.Time
}

const pipePace = 10 * time.Second

func newSteps(w io.Writer) *steps {
	return &steps{liveLine: newLiveLine(w), now: time.Now}
}

func (s *steps) begin(step tune.Step) {
	line := fmt.Sprintf("run %d of at most %d", step.Done+1, step.Planned)
	if step.Done > 0 {
		line += fmt.Sprintf(", %v left", step.Left.Round(time.Second))
	}
	line += ": " + text.Clean(step.Doing)
	if s.width > 0 {
		s.say(line)
		return
	}
	if now := s.now(); step.Done > 0 && now.Sub(s.last) >= pipePace {
		fmt.Fprintln(s.w, "isobar: "+line)
		s.last = now
	} else if step.Done == 0 {
		s.last = now
	}
}

// mostOutput is how many bytes of programs' output are kept.
const mostOutput = 8 << 20

// An outputFile keeps programs' standard error. It creates its file with the
// first bytes, and drops everything beyond mostOutput.
type outputFile struct {
	mu      sync.Mutex
	path    string
	file    *os.File // nil until something is written
	written int
}

func (f *outputFile) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil && f.path != "" && os.MkdirAll(filepath.Dir(f.path), 0o755) == nil {
		f.file, _ = os.Create(f.path) // without a file, the record still has the end
	}
	if f.file != nil && f.written < mostOutput {
		f.file.Write(b[:min(len(b), mostOutput-f.written)])
		f.written += len(b)
	}
	return len(b), nil
}

func (f *outputFile) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		f.file.Close()
	}
}
