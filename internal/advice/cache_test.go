package advice

import (
	"bytes"
	"context"
	"encoding/gob"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/advise"
	"github.com/isobar-go/isobar/internal/base/atomicfile"
)

const hot = `package m

import "fmt"

func All(list []int) (n int) {
	for _, x := range list {
		n += len(fmt.Sprintf("%d,", x))
	}
	return n
}
`

// TestCache: a second run takes its findings from the cache, until the package, its
// imports or the checks change.
func TestCache(t *testing.T) {
	dir, cacheDir := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	put(t, filepath.Join(dir, "go.mod"), []byte("module example.org/m\n\ngo 1.26\n"))
	put(t, filepath.Join(dir, "m.go"), []byte(hot))
	put(t, filepath.Join(dir, "sub", "sub.go"), []byte("package sub\n\nimport \"example.org/m\"\n\nvar N = m.All(nil)\n"))
	c := Config{Dir: dir, Patterns: []string{"./..."}, Checks: advise.All(), Cache: cacheDir}
	look := func(c Config) *Result {
		t.Helper()
		r, err := Run(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := look(c)
	if len(first.Findings) != 1 || !first.Findings[0].Fix {
		t.Fatalf("%+v: want one finding with a fix", first.Findings)
	}
	if again := look(c); !reflect.DeepEqual(first, again) {
		t.Errorf("from the cache: %+v, want %+v", again, first)
	}
	names := entries(t, cacheDir)
	if len(names) != 2 {
		t.Fatalf("%d entries, want one for each package", len(names))
	}
	// A hit returns the contents of the files.
	for _, name := range names {
		var o outcome
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&o); err != nil {
			t.Fatal(err)
		}
		for i := range o.Findings {
			o.Findings[i].Message = "stored"
		}
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(o); err != nil {
			t.Fatal(err)
		}
		put(t, name, b.Bytes())
	}
	if r := look(c); len(r.Findings) != 1 || r.Findings[0].Message != "stored" {
		t.Errorf("%+v: the cache was not used", r.Findings)
	}
	some := c
	some.Checks = advise.All()[:1]
	if r := look(some); len(r.Findings) != 1 || r.Findings[0].Message == "stored" {
		t.Errorf("%+v: other checks, the same entry", r.Findings)
	}
	// A comment does not change export data, but silences the line.
	put(t, filepath.Join(dir, "m.go"), []byte(strings.Replace(hot, "x))", "x)) //isobar:ignore sprintf seldom called", 1)))
	if r := look(c); len(r.Findings) != 0 {
		t.Errorf("%+v: the change was not seen", r.Findings)
	}
	// Unreadable entries are computed again.
	put(t, filepath.Join(dir, "m.go"), []byte(hot))
	for _, name := range entries(t, cacheDir) {
		put(t, name, []byte("cut"))
	}
	if r := look(c); len(r.Findings) != 1 || r.Findings[0].Message == "stored" {
		t.Errorf("%+v: broken entries", r.Findings)
	}
}

// TestCacheSeesImports: the same text has another meaning when its imports change.
func TestCacheSeesImports(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), []byte("module example.org/m\n\ngo 1.26\n"))
	put(t, filepath.Join(dir, "m.go"), []byte(strings.Replace(strings.Replace(hot, "\"fmt\"", "(\n\"fmt\"\n\"example.org/m/id\"\n)", 1), "list []int", "list []id.ID", 1)))
	c := Config{Dir: dir, Patterns: []string{"."}, Checks: advise.All(), Cache: t.TempDir()}
	for _, tt := range []struct {
		id   string
		want int
	}{{"package id\n\ntype ID = int\n", 1}, {"package id\n\ntype ID = complex128\n", 0}, {"package id\n\ntype ID = int\n", 1}} {
		put(t, filepath.Join(dir, "id", "id.go"), []byte(tt.id))
		r, err := Run(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) != tt.want {
			t.Errorf("%q: %d findings, want %d", tt.id, len(r.Findings), tt.want)
		}
	}
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestShrink(t *testing.T) {
	c := &cache{dir: t.TempDir()}
	now := time.Now()
	for i, name := range []string{"newest", "older", "oldest", atomicfile.Prefix + "abandoned"} {
		name = filepath.Join(c.dir, name)
		put(t, name, make([]byte, 1000))
		at := now.Add(-time.Duration(2*i) * time.Hour)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	c.shrink(2500)
	var left []string
	for _, name := range entries(t, c.dir) {
		left = append(left, filepath.Base(name))
	}
	if want := []string{"newest", "older"}; !reflect.DeepEqual(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}
