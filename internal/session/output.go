package session

import (
	"os"
	"path/filepath"
	"sync"
)

// mostOutput is the maximum of the programs' output to keep, in bytes.
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
		f.file, _ = os.Create(f.path) // without a file, records still have the last output
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
