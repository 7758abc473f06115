package layout

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is where a line of product code ends, strings and comments included.
// A tab counts as one.
const columns = 120

// TestLinesEnd holds product code to its columns.
func TestLinesEnd(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, name := range productFiles(t, root) {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, but not yet in the index
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range longLines(data) {
			t.Errorf("%s:%d: the line goes beyond column %d: wrap it", name, n, columns)
		}
	}
}

// productFiles lists the Go files that git tracks, but for tests and testdata.
func productFiles(t *testing.T, root string) []string {
	t.Helper()
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "*.go").Output()
	if err != nil {
		t.Skipf("no git checkout here: %v", err)
	}
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	files = slices.DeleteFunc(files, func(name string) bool {
		return strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/")
	})
	if len(files) < 20 {
		t.Fatalf("git lists %d files: is the module root right?", len(files))
	}
	return files
}

// longLines returns the numbers of the lines beyond the last column.
func longLines(data []byte) (numbers []int) {
	n := 0
	for line := range bytes.Lines(data) {
		if n++; utf8.RuneCount(bytes.TrimRight(line, "\r\n")) > columns {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

func TestLongLines(t *testing.T) {
	x, u := strings.Repeat("x", columns), strings.Repeat("ü", columns)
	for _, tc := range []struct {
		data string
		want string
	}{
		{x + "\n" + u + "\r\n", "[]"},
		{"\t" + x + "\n\n// " + u, "[1 3]"},
	} {
		if got := fmt.Sprint(longLines([]byte(tc.data))); got != tc.want {
			t.Errorf("%.10q…: lines %s, want %s", tc.data, got, tc.want)
		}
	}
}
