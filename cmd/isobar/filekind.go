package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// A fileKind is what a file of the user's is by its content, whatever its name.
// Its text has the command that reads such a file.
type fileKind string

const (
	aProfile   fileKind = "a profile: 'isobar advise --profile FILE ./...' reads it"
	aTrace     fileKind = "an execution trace: 'isobar trace FILE' reads it"
	aHeap      fileKind = "a heap that was saved: 'isobar heap FILE' reads it"
	aStore     fileKind = "a store: 'isobar lab list --store FILE' reads it"
	anAnswer   fileKind = "an answer of tune: 'isobar tune --check FILE' reads it"
	aLog       fileKind = "a log with gctrace lines: 'isobar watch FILE' reads it"
	benchmarks fileKind = "results of benchmarks: 'isobar lab import FILE' reads it"
)

// marks tell a kind by the first 64 KiB, of what a gzip'd file holds.
var marks = []struct {
	kind  fileKind
	bytes *regexp.Regexp
}{
	{aTrace, regexp.MustCompile(`^go 1\.\d+ trace\x00`)},
	{aStore, regexp.MustCompile(`^SQLite format 3\x00`)},
	{aHeap, regexp.MustCompile(`^gzip:\{"isobar_heap":`)},
	{aProfile, regexp.MustCompile(`^(gzip:)?[\nZ].\x08`)}, // sample_type or period_type, its length and type
	{anAnswer, regexp.MustCompile(`^\s*\{\s*"headline":`)},
	{aLog, regexp.MustCompile(`(?m)^gc \d+ @\d`)},
	{benchmarks, regexp.MustCompile(`(?m)^Benchmark\S*\s+\d+\s+\S+ `)},
}

// mistaken is an error if a file is of another kind than those that a command
// reads, and isobar knows which. The reader itself says what else is wrong.
func mistaken(command, name string, reads ...fileKind) error {
	is := kindOf(name, reads)
	if is == "" {
		return nil
	}
	return fmt.Errorf("%s: %s is %s", command, name, strings.ReplaceAll(string(is), "FILE", name))
}

func kindOf(name string, reads []fileKind) (is fileKind) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	head := beginning(name)
	for _, m := range marks {
		switch {
		case !m.bytes.Match(head):
		case slices.Contains(reads, m.kind):
			return ""
		case is == "":
			is = m.kind
		}
	}
	return is
}

// beginning is the first 64 KiB of a file; of a gzip'd one "gzip:" and of what it holds.
func beginning(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	const most = 64 << 10
	if z, err := gzip.NewReader(f); err == nil {
		head, _ := io.ReadAll(io.LimitReader(z, most)) // as far as it can be read
		return append([]byte("gzip:"), head...)
	}
	head, _ := io.ReadAll(io.NewSectionReader(f, 0, most))
	return head
}
