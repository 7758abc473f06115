package live

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func traceLine(n int, at string, start, end, live int) string {
	return fmt.Sprintf("gc %d @%ss 1%%: 0.010+0.50+0.020 ms clock, 0.020+1.0/3.0/2.0+0.040 ms cpu, %d->%d->%d MB, 10 MB goal, 1 MB stacks, 0 MB globals, 2 P\n", n, at, start, end, live)
}

func TestStream(t *testing.T) {
	in := traceLine(1, "0.100", 4, 6, 2) + "hello\n" + traceLine(2, "0.500", 8, 9, 3) + traceLine(3, "1.700", 8, 8, 4)
	var own strings.Builder
	f := openTest(t, "-", Config{Interval: time.Second, Stdin: strings.NewReader(in), Own: &own})
	a, b := next(t, f), next(t, f)
	if n := a.value(t, "/gc/cycles:gc-cycles"); n != 2 {
		t.Errorf("the first sample has %v collections, want the 2 of the first second", n)
	}
	if heap, live, goal := a.value(t, "/heap/objects:bytes"), a.value(t, "/heap/live:bytes"), a.value(t, "/heap/goal:bytes"); heap != 9<<20 || live != 3<<20 || goal != 10<<20 {
		t.Errorf("heap %v, live %v, goal %v", heap, live, goal)
	}
	if got := a.value(t, "/alloc/size:bytes"); got != (6+9-2)<<20 {
		t.Errorf("allocated %v, want 13 MiB", got)
	}
	if got := a.value(t, "/gc/pause/max:seconds"); got != 20e-6 {
		t.Errorf("longest pause %v, want 20 µs", got)
	}
	if got := b.At.Sub(a.At); got != 1200*time.Millisecond {
		t.Errorf("samples %v apart, want 1.2 s by the program's clock", got)
	}
	if got := b.value(t, "/gc/cpu/assist:cpu-seconds"); math.Abs(got-3e-3) > 1e-9 {
		t.Errorf("assist %v, want 3 ms", got)
	}
	if _, err := f.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if own.String() != "hello\n" {
		t.Errorf("passed on %q", own.String())
	}
}

func TestStreamOfNothing(t *testing.T) {
	f := openTest(t, "-", Config{Stdin: strings.NewReader("no such thing\n")})
	if _, err := f.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "GODEBUG=gctrace=1") {
		t.Errorf("%v, want a remedy", err)
	}
}

// If a new process starts within a stream, the feed switches to it.
func TestStreamOfTwoProcesses(t *testing.T) {
	in := traceLine(1, "0.1", 4, 6, 2) + traceLine(2, "5.1", 4, 6, 2) + traceLine(1, "0.2", 4, 7, 2) + traceLine(3, "9.9", 4, 6, 2)
	f := openTest(t, "-", Config{Interval: time.Second, Stdin: strings.NewReader(in)})
	var epochs []int
	for {
		s, err := f.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		epochs = append(epochs, s.Epoch)
	}
	if !slices.Equal(epochs, []int{1, 1, 2}) {
		t.Errorf("epochs %v, want 1, 1, 2", epochs)
	}
	if !slices.ContainsFunc(f.Notes(), func(n string) bool { return strings.Contains(n, "1 collections of earlier processes") }) {
		t.Errorf("notes %q", f.Notes())
	}
}

// A file is followed as it grows, is truncated, and is replaced.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "gc.log")
	write := func(flag int, text string) {
		t.Helper()
		f, err := os.OpenFile(name, flag|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = io.WriteString(f, text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(0, "hello\n"+traceLine(1, "1", 4, 6, 2)+traceLine(2, "2", 4, 6, 3)+traceLine(3, "3", 4, 6, 4))
	var own strings.Builder // a file keeps the program's lines
	once := openTest(t, name, Config{Once: true, Own: &own})
	for err := error(nil); err == nil; {
		_, err = once.Next(t.Context())
	}
	if own.Len() > 0 {
		t.Errorf("passed on %q", &own)
	}
	f := openTest(t, name, Config{})
	for i, past := range []bool{true, true, false} {
		s := next(t, f)
		if s.Past != past || s.value(t, "/gc/cycles:gc-cycles") != float64(i+1) {
			t.Errorf("sample %d: past %v, %v collections", i, s.Past, s.value(t, "/gc/cycles:gc-cycles"))
		}
	}
	grown := traceLine(4, "4", 4, 6, 5)
	write(os.O_APPEND, grown[:30])
	write(os.O_APPEND, grown[30:])
	if s := next(t, f); s.value(t, "/heap/live:bytes") != 5<<20 || s.Past {
		t.Errorf("live %v after it grew", s.value(t, "/heap/live:bytes"))
	}
	write(os.O_TRUNC, traceLine(1, "0.1", 4, 6, 1))
	if s := next(t, f); s.value(t, "/heap/live:bytes") != 1<<20 || s.Epoch != 2 {
		t.Errorf("live %v, epoch %d after it was truncated", s.value(t, "/heap/live:bytes"), s.Epoch)
	}
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	write(0, traceLine(1, "0.1", 4, 6, 7))
	if s := next(t, f); s.value(t, "/heap/live:bytes") != 7<<20 || s.Epoch != 3 {
		t.Errorf("live %v, epoch %d after it was replaced", s.value(t, "/heap/live:bytes"), s.Epoch)
	}
}

// Input that arrives between the last check of a file and its replacement is read too.
func TestTailOfAReplacedFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace")
	write := func(name, text string) {
		t.Helper()
		file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write(name, "first")
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	in := &tail{name: name, file: file, ctx: t.Context()}
	defer in.release()
	// It has read everything once caught is called, and waits.
	in.caught = func(time.Time) {
		write(name, "second")
		write(name+".new", "third")
		if err := os.Rename(name+".new", name); err != nil {
			t.Error(err)
		}
	}
	got := make([]byte, len("firstsecondthird"))
	if _, err := io.ReadFull(in, got); err != nil || string(got) != "firstsecondthird" {
		t.Errorf("read %q, %v", got, err)
	}
}
