package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/heap"
	"github.com/isobar-go/isobar/internal/tune"
)

// TestMistaken gives each kind of file, under a name that tells nothing, to a reader
// of another: the error names the command that reads it.
func TestMistaken(t *testing.T) {
	encoded := func(v any) func(io.Writer) error {
		return func(w io.Writer) error { return json.NewEncoder(w).Encode(v) }
	}
	zipped := func(write func(io.Writer) error) func(io.Writer) error {
		return func(w io.Writer) error {
			z := gzip.NewWriter(w)
			if err := write(z); err != nil {
				return err
			}
			return z.Close()
		}
	}
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	traced := func(w io.Writer) error {
		if err := trace.Start(w); err != nil {
			return err
		}
		trace.Stop()
		return nil
	}
	dir := t.TempDir()
	for want, write := range map[fileKind]func(io.Writer) error{
		aProfile:   func(w io.Writer) error { return pprof.Lookup("allocs").WriteTo(w, 0) },
		aTrace:     traced,
		aHeap:      zipped(encoded(heap.Report{})),
		aStore:     text("SQLite format 3\x00\x10\x00"),
		anAnswer:   encoded(tune.Answer{}),
		aLog:       text("hello\ngc 1 @0.012s 2%: 0.02+0.5+0.01 ms clock\n"),
		benchmarks: text("goos: linux\nBenchmarkX/a=b-2 \t 100\t 12.5 ns/op\n"),
		"":         text("hello\n"),
	} {
		var content bytes.Buffer
		if err := write(&content); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "file.txt")
		if err := os.WriteFile(name, content.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if is := kindOf(name, nil); is != want {
			t.Errorf("a file with %.20q is %q, want %q", content.Bytes(), is, want)
		}
		if err := mistaken("lab", name, want); err != nil {
			t.Errorf("a command that reads it: %v", err)
		}
		if err := mistaken("lab", name); want != "" && (err == nil || !strings.Contains(err.Error(), name+"' reads it") &&
			!strings.Contains(err.Error(), name+" ./...' reads it")) {
			t.Errorf("a command that does not read it: %v", err)
		}
	}
	for _, name := range []string{dir, filepath.Join(dir, "none")} {
		if err := mistaken("lab", name); err != nil {
			t.Errorf("%v, want what a reader says", err)
		}
	}
}
