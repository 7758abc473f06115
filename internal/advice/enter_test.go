package advice

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

const boxing = `package m

//go:noinline
func Boxed(b []byte) any {
	return string(b)
}
`

const boxingTest = `package m

import "testing"

var kept any

func BenchmarkBoxed(b *testing.B) {
	text := make([]byte, 16)
	for b.Loop() {
		kept = Boxed(text)
		kept = Boxed(text[:1])
	}
}
`

// TestCallsTellSitesOfALineApart: a profile has one line for a conversion and the boxing of
// its result; the program has two calls. A string of one byte needs no memory, but is boxed.
func TestCallsTellSitesOfALineApart(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("no program whose calls are known")
	}
	r := ran(t, profiled(t, "1.25", boxing, boxingTest))
	made := map[string]Explained{}
	for _, s := range r.Evidence.Account.Sites {
		made[s.Kind] = s
	}
	convert, box := made["conversion"], made["boxing"]
	times := float64(box.Objects) / float64(convert.Objects)
	if len(made) != 2 || convert.Size != 16 || box.Size != 16 || times < 1.8 || times > 2.2 {
		t.Fatalf("%+v: want conversions of 16 bytes and twice as many boxes of 16", made)
	}
	if !strings.Contains(convert.Flow, "interface-converted") || !strings.Contains(box.Flow, "return") {
		t.Errorf("conversion: %q, boxing: %q: want the boxing, and the return", convert.Flow, box.Flow)
	}
}

// TestEnteredReportsWhatItCannotRead: a damaged profile is an error, and stays as it is.
func TestEnteredReportsWhatItCannotRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(name, []byte("no profile"), 0o600); err != nil {
		t.Fatal(err)
	}
	if entered(name) == nil {
		t.Error("what is no profile is read")
	}
}

const wrapping = `package m

import (
	"bytes"
	"io"
)

//go:noinline
func Closer(b []byte) io.ReadCloser {
	r := &reader{b}
	return io.NopCloser(r)
}

type reader struct{ b []byte }

func (r *reader) Read([]byte) (int, error) { return 0, io.EOF }

//go:noinline
func Handed(b []byte) int {
	return size(bytes.NewReader(b))
}

//go:noinline
func size(r io.Reader) int {
	n, _ := io.Copy(io.Discard, r)
	return int(n)
}

type numbers struct{ v [4]int }

func small(n int) *numbers { return &numbers{[4]int{n}} }

func Wrapped(n int) *numbers { return small(n) }
`

const wrappingTest = `package m

import "testing"

var kept any

func BenchmarkCloser(b *testing.B) {
	for b.Loop() {
		kept = Closer(nil)
	}
}

func BenchmarkHanded(b *testing.B) {
	for b.Loop() {
		kept = Handed(nil) > 0
	}
}

func BenchmarkWrapped(b *testing.B) {
	for i := 0; i < b.N; i++ {
		kept = Wrapped(i)
	}
}
`

// TestInlinedCodeIsThatOfItsFunction: where a function is inlined, what it makes is on the heap for what that code
// does with it: the packages' code with what the library makes, a benchmark with what the packages make.
func TestInlinedCodeIsThatOfItsFunction(t *testing.T) {
	r := ran(t, profiled(t, "1.25", wrapping, wrappingTest))
	want := map[string]string{"io.NopCloser": "return io.NopCloser(r) (return), line 11",
		"bytes.NewReader": "n, _ := io.Copy(io.Discard, r) (call parameter), line 25",
		"m.small": "return &numbers{...} (return), line 31; there may be other ways; it is inlined into m.BenchmarkWrapped, " +
			"which decides there"}
	for _, e := range r.Evidence.Account.Sites {
		name := cmp.Or(e.Callee, e.Function)
		if flow, ok := want[name]; ok && (e.Flow != flow || e.Verdict != Look) {
			t.Errorf("%s: %s, %q, want %s, %q", name, e.Verdict, e.Flow, Look, flow)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("not in the account: %v", want)
	}
}

// TestCallsOfOtherPrograms: of a merged profile, the addresses of another program say nothing.
func TestCallsOfOtherPrograms(t *testing.T) {
	dir := tree(t, map[string]string{"main.go": `package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var kept []byte

func main() {
	runtime.MemProfileRate = 1
	kept = make([]byte, len(os.Args))
	pprof.Lookup("allocs").WriteTo(os.Stdout, 0)
}
`})
	run(t, dir, "go", "build", "-o", "prog", "main.go")
	out, err := exec.Command(filepath.Join(dir, "prog")).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range []bool{true, false} {
		p, err := profile.ParseData(out)
		if err != nil {
			t.Fatal(err)
		}
		if buildID(p.Mapping[0].File) == "" {
			t.Skip("no program whose calls can be read")
		}
		for _, l := range p.Location {
			if !own {
				l.Mapping = &profile.Mapping{}
			}
		}
		if enter(p) != own {
			t.Errorf("own program %v: entered %v", own, !own)
		}
	}
}
