//go:build unix

package atomicfile

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWriteToPipe writes to what cannot be replaced.
func TestWriteToPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(name); err != nil {
		t.Error(err)
	}
	read := make(chan string)
	go func() {
		f, err := os.Open(name)
		if err != nil {
			read <- err.Error()
			return
		}
		defer f.Close()
		all, _ := io.ReadAll(f)
		read <- string(all)
	}()
	if err := Bytes(name, 0o600, []byte("text")); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "text" {
		t.Errorf("read %q", got)
	}
	if info, err := os.Stat(name); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("%v, %v: not a pipe any more", info, err)
	}
}
