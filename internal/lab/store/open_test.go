package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filled returns the bytes of a closed store with a few records.
func filled(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	s := open(t, path)
	cells := testPlan(10)
	id := create(t, s, cells)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range cells {
		if err := s.Append(id, testRecord(c, rng), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// alter runs SQL on a store's file without the store.
func alter(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	good := filled(t)
	write := func(data []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	sql := func(statements string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			write(good)(t, path)
			alter(t, path, statements)
		}
	}
	for _, test := range []struct {
		name string
		make func(*testing.T, string)
		want []string
	}{
		{"text", write([]byte(strings.Repeat("not a database\n", 100))), []string{"not an SQLite file", "--store"}},
		{"short text", write([]byte("x")), []string{"not an SQLite file", "--store"}},
		{"truncated header", write(good[:50]), []string{"truncated to 50 bytes", "restore"}},
		{"truncated", write(good[:len(good)/2]), []string{"truncated", fmt.Sprint(len(good) / 2), "restore"}},
		{"newer", sql("PRAGMA user_version = 99"), []string{"version 99", "newer version of isobar", "update"}},
		{"foreign", func(t *testing.T, path string) { alter(t, path, "CREATE TABLE notes (x)") }, []string{"another program", "--store"}},
		{"foreign, versioned", func(t *testing.T, path string) { alter(t, path, "CREATE TABLE notes (x); PRAGMA user_version = 1") }, []string{"another program"}},
		{"damaged schema", write(append(append(bytes.Clone(good[:100]), bytes.Repeat([]byte{0xa5}, 4000)...), good[4100:]...)), []string{"damaged", "restore"}},
		{"directory", func(t *testing.T, path string) { os.Mkdir(path, 0o755) }, []string{"--store"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.db")
			test.make(t, path)
			before, _ := os.ReadFile(path)
			for name, open := range map[string]func(string) (*Store, error){"Open": Open, "OpenReadOnly": OpenReadOnly} {
				s, err := open(path)
				if err == nil {
					s.Close()
					t.Errorf("%s succeeded", name)
					continue
				}
				for _, want := range append(test.want, path, "store: open") {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%s: %v: does not say %q", name, err, want)
					}
				}
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the refused file was changed")
			}
		})
	}
}

func TestOpenReadOnlyCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.db")
	if _, err := OpenReadOnly(path); err == nil || !strings.Contains(err.Error(), "no store at "+path) {
		t.Errorf("missing store: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("created %v", entries)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReadOnly(path); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("empty store: %v", err)
	}
	if s, err := Open(path); err != nil {
		t.Errorf("an empty file is a store to be filled: %v", err)
	} else if err := s.Close(); err != nil {
		t.Error(err)
	}
	s, err := OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Last(); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("Last of a store without runs: %v", err)
	}
}

func TestUnwritablePlaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	places := []string{filepath.Join(file, "s.db")}
	if _, err := os.Stat("/proc/self"); err == nil {
		places = append(places, "/proc/isobar/s.db", "/proc/isobar.db")
	}
	for _, path := range places {
		s, err := Open(path)
		if err == nil {
			s.Close()
			t.Errorf("Open(%s) succeeded", path)
			continue
		}
		for _, want := range []string{path, "--store"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: does not say %q", err, want)
			}
		}
		if _, err := Lock(path); err == nil || errors.Is(err, ErrLocked) {
			t.Errorf("Lock(%s): %v", path, err)
		}
	}
}

// TestDamageIsReported overwrites each page in turn: every call returns what was
// stored, or an error; none panics.
func TestDamageIsReported(t *testing.T) {
	good := filled(t)
	const page = 4096
	reported := 0
	for at := page; at < len(good); at += page {
		path := filepath.Join(t.TempDir(), "s.db")
		bad := bytes.Clone(good)
		for i := at + 8; i < at+page && i < len(bad); i++ {
			bad[i] ^= 0x5a
		}
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := OpenReadOnly(path)
		if err != nil {
			reported++
			continue
		}
		records, err := s.Records(1)
		if err != nil {
			reported++
			if !strings.Contains(err.Error(), path) {
				t.Errorf("page %d: %v: does not name the file", at/page, err)
			}
		} else if len(records) != 30 && len(records) != 0 {
			t.Logf("page %d: %d of 30 records", at/page, len(records))
		}
		s.Close()
	}
	if reported < len(good)/page/2 {
		t.Errorf("damage to %d of %d pages was reported", reported, len(good)/page)
	}
}

func FuzzOpen(f *testing.F) {
	good := filled(f)
	f.Add(good[:4096])
	f.Add(good[:8*4096])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "s.db")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := OpenReadOnly(path)
		if err != nil {
			return
		}
		defer s.Close()
		runs, _ := s.Runs()
		for _, r := range runs {
			s.Records(r.ID)
		}
	})
}

func FuzzDecodeDocument(f *testing.F) {
	rec := testRecord(testPlan(1)[0], rand.New(rand.NewPCG(1, 1)))
	data, err := encodeDocument(rec, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := decodeDocument(data)
		if err != nil {
			return
		}
		if _, err := encodeDocument(rec, nil); err != nil {
			t.Errorf("decoded but does not encode: %v", err)
		}
	})
}
