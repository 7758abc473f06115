package heap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/isobar-go/isobar/internal/heap/image"
	"github.com/isobar-go/isobar/internal/heap/layout"
	"github.com/isobar-go/isobar/internal/heap/target"
)

// A damaged is the memory of a program, as in a core, with some words changed.
type damaged struct {
	from target.Memory

	mu    sync.Mutex
	pages map[uint64][]byte // read so far; guarded by mu
	words map[uint64]uint64 // replacements; not written while memory is read
}

// Read implements target.Memory.
func (d *damaged) Read(ranges []target.Range) error {
	for _, r := range ranges {
		for at, left := r.Addr, r.Data; len(left) > 0; {
			page, err := d.page(at &^ (target.PageBytes - 1))
			if err != nil {
				return err
			}
			n := copy(left, page[at%target.PageBytes:])
			at, left = at+uint64(n), left[n:]
		}
		for addr, v := range d.words {
			if n := uint64(len(r.Data)); n >= 8 && addr >= r.Addr && addr-r.Addr <= n-8 {
				binary.LittleEndian.PutUint64(r.Data[addr-r.Addr:], v)
			}
		}
	}
	return nil
}

func (d *damaged) page(addr uint64) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b, ok := d.pages[addr]; ok {
		return b, nil
	}
	b := make([]byte, target.PageBytes)
	if err := d.from.Read([]target.Range{{Addr: addr, Data: b}}); err != nil {
		return nil, err
	}
	d.pages[addr] = b
	return b, nil
}

// Threads implements target.Memory.
func (d *damaged) Threads() ([]target.Regs, error) { return nil, nil }

// A wreck reads the memory of one program with changes.
type wreck struct {
	memory  *damaged
	program *target.Program
	pages   []uint64 // needed by a reading
}

// newWreck starts testdata/mixed, and reads everything that a reading needs.
func newWreck(t testing.TB) *wreck {
	t.Helper()
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the heap of this architecture cannot be read")
	}
	name := filepath.Join(t.TempDir(), "mixed")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", name, ".")
	build.Dir = "testdata/mixed"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	pid, _, _ := started(t, name)
	p, err := target.OpenProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	w := &wreck{memory: &damaged{from: p, pages: make(map[uint64][]byte)}, program: p.Program}
	if err := w.read(t, nil); err != nil {
		t.Fatalf("without damage: %v", err)
	}
	w.pages = slices.Sorted(maps.Keys(w.memory.pages))
	return w
}

// read reads the program as a core, with changes of six bytes each: page, word,
// operation and argument.
func (w *wreck) read(t testing.TB, changes []byte) error {
	t.Helper()
	w.memory.words = make(map[uint64]uint64)
	for ; len(changes) >= 6; changes = changes[6:] {
		page := w.pages[int(binary.LittleEndian.Uint16(changes))%len(w.pages)]
		addr := page + uint64(binary.LittleEndian.Uint16(changes[2:]))%512*8
		arg := uint64(changes[5])
		old := binary.LittleEndian.Uint64(w.memory.pages[page][addr%target.PageBytes:])
		w.memory.words[addr] = [...]uint64{
			0, ^uint64(0), old ^ 1<<(arg%64), old + 8*arg, 1 << (arg % 64), arg, w.pages[int(arg)*len(w.pages)/256], addr,
			old&^255 | arg, old << 8, ^arg,
		}[changes[4]%11]
	}
	src := image.Source{Memory: w.memory, Program: w.program}
	r, err := read(t.Context(), "core", nil, src, Config{Config: image.Config{FreeBytes: 64 << 20}, Strings: true})
	if err != nil {
		return err
	}
	return r.Write(io.Discard, View{Lines: 10, Share: 0.001})
}

// TestDamagedMemory reads a program as a core with changed words: there must be an
// error, or a report.
func TestDamagedMemory(t *testing.T) {
	alone(t)
	w := newWreck(t)
	seeds := uint64(100)
	if testing.Short() {
		seeds = 20
	}
	if os.Getenv("ISOBAR_SOAK") != "" {
		seeds = 10_000
	}
	read := 0
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 0))
		changes := make([]byte, 6*(1+random.IntN(60)))
		for i := range changes {
			changes[i] = byte(random.Uint32())
		}
		func() {
			defer func() {
				if e := recover(); e != nil {
					panic(fmt.Sprintf("seed %d: %v", seed, e))
				}
			}()
			if w.read(t, changes) == nil {
				read++
			}
		}()
	}
	t.Logf("%d of %d could be read", read, seeds)
}

// TestExperiments: the runtime of a program may have other structures than its version says.
func TestExperiments(t *testing.T) {
	alone(t)
	w := newWreck(t)
	settings := w.program.Build.Settings
	for experiments, known := range map[string]bool{"nostaticlockranking": true, "arenas,staticlockranking": false} {
		w.program.Build.Settings = append(settings[:len(settings):len(settings)],
			debug.BuildSetting{Key: "GOEXPERIMENT", Value: experiments})
		if err := w.read(t, nil); known && err != nil || !known && !errors.Is(err, layout.ErrUnknown) {
			t.Errorf("%s: %v", experiments, err)
		}
	}
}

func FuzzDamagedMemory(f *testing.F) {
	w := newWreck(f)
	f.Add([]byte("\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x10\x00\x08\x00\x01\x00\x20\x00\x09\x00\x06\x80"))
	f.Fuzz(func(t *testing.T, changes []byte) {
		if err := w.read(t, changes[:min(len(changes), 600)]); err != nil {
			t.Skip(err)
		}
	})
}
