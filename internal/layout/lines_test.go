package layout

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is where a line of product code ends, strings and comments included.
// A tab counts as one.
const columns = 120

var updateLines = flag.Bool("update-lines", false, "write testdata/longlines.txt from the tree; it may only shrink")

// TestLinesEnd holds product code to its columns. Files older than the rule may
// have as many longer lines as testdata/longlines.txt says: no more, and no fewer,
// so that the list only shrinks. A file is named by its directory's last part, so
// that a package may move.
func TestLinesEnd(t *testing.T) {
	const list = "testdata/longlines.txt"
	root := filepath.Join("..", "..")
	found, err := longLines(root, productFiles(t, root))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := parseAllowance(string(data))
	if err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	if *updateLines {
		if total(found) > total(allowed) {
			t.Fatalf("the tree has %d lines beyond column %d, the list %d: it only shrinks",
				total(found), columns, total(allowed))
		}
		if err := os.WriteFile(list, []byte(formatAllowance(found)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, problem := range compareAllowance(found, allowed) {
		t.Error(problem)
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

// longLines counts the lines beyond the last column, by DIRECTORY/FILE.
func longLines(root string, files []string) (map[string]int, error) {
	found := make(map[string]int)
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, but not yet in the index
		}
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(data) {
			if utf8.RuneCount(bytes.TrimRight(line, "\r\n")) > columns {
				found[path.Join(path.Base(path.Dir(name)), path.Base(name))]++
			}
		}
	}
	return found, nil
}

// compareAllowance returns what is wrong, sorted by file.
func compareAllowance(found, allowed map[string]int) []string {
	const update = "go test ./internal/layout -run TestLinesEnd -update-lines"
	names := maps.Clone(allowed)
	maps.Copy(names, found)
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		switch n, most := found[name], allowed[name]; {
		case n > most:
			problems = append(problems, fmt.Sprintf("%s: %d lines beyond column %d, allowed are %d: wrap them"+
				" (where they only moved here: %s)", name, n, columns, most, update))
		case n < most:
			problems = append(problems, fmt.Sprintf("%s: %d lines beyond column %d, the list allows %d: shorten it with %s",
				name, n, columns, most, update))
		}
	}
	return problems
}

// parseAllowance reads lines of a count and a file.
func parseAllowance(text string) (map[string]int, error) {
	allowed := make(map[string]int)
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		count, name, _ := strings.Cut(s.Text(), " ")
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || name == "" || allowed[name] != 0 {
			return nil, fmt.Errorf("%q: want COUNT FILE, each file once", s.Text())
		}
		allowed[name] = n
	}
	return allowed, nil
}

func formatAllowance(found map[string]int) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&b, "%d %s\n", found[name], name)
	}
	return b.String()
}

func total(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

func TestLinesEndFindsWhatItShould(t *testing.T) {
	root := t.TempDir()
	for name, data := range map[string]string{
		"a/x.go": strings.Repeat("x", columns) + "\n" + strings.Repeat("ü", columns) + "\r\n",
		"b/x.go": "\t" + strings.Repeat("x", columns) + "\n\n// " + strings.Repeat("x", columns),
	} {
		if err := os.MkdirAll(filepath.Join(root, path.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := longLines(root, []string{"a/x.go", "b/x.go", "b/removed.go"})
	if err != nil || !maps.Equal(found, map[string]int{"b/x.go": 2}) {
		t.Fatalf("found %v, %v; want 2 in b/x.go", found, err)
	}
	for _, tc := range []struct {
		list     string
		problems int
	}{
		{"2 b/x.go\n", 0},
		{"1 b/x.go\n", 1},
		{"3 b/x.go\n", 1},
		{"", 1},
		{"1 a/x.go\n2 b/x.go\n", 1},
		{"2 a/x.go\n", 2},
	} {
		allowed, err := parseAllowance(tc.list)
		if err != nil {
			t.Fatal(err)
		}
		if problems := compareAllowance(found, allowed); len(problems) != tc.problems {
			t.Errorf("%q: %q, want %d problems", tc.list, problems, tc.problems)
		}
		if formatAllowance(allowed) != tc.list {
			t.Errorf("%q is written as %q", tc.list, formatAllowance(allowed))
		}
	}
	for _, list := range []string{"b/x.go\n", "0 b/x.go\n", "1\n", "1 a\n2 a\n"} {
		if _, err := parseAllowance(list); err == nil {
			t.Errorf("%q: no error", list)
		}
	}
}
