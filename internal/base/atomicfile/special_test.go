//go:build unix

package atomicfile

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWriteToPipe writes to targets that cannot be replaced.
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

// TestWriteToStream: output to a standard stream that is redirected to a file goes between
// earlier and later writes.
func TestWriteToStream(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, errs := os.Stdout, os.Stderr
	defer func() { os.Stdout, os.Stderr = out, errs }()
	os.Stdout, os.Stderr = f, f
	want := ""
	for _, stream := range []string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/stderr"} {
		if _, err := io.WriteString(f, "before "); err != nil {
			t.Fatal(err)
		}
		if err := Check(stream); err != nil {
			t.Errorf("%s: %v", stream, err)
		}
		if err := Bytes(stream, 0o600, []byte(stream+" ")); err != nil {
			t.Errorf("%s: %v", stream, err)
		}
		want += "before " + stream + " "
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
