package arena

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

func needChecks(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("detected only under isobar_debug and in race builds")
	}
}

func wantStaleWrite(t *testing.T, f func()) {
	t.Helper()
	err := panicError(t, f)
	if err == nil || !strings.Contains(err.Error(), "written to after it was freed") || !strings.Contains(err.Error(), "check_test.go:") {
		t.Errorf("%v, want a panic that names the write and where the memory was freed", err)
	}
}

func TestWriteAfterResetIsDetected(t *testing.T) {
	needChecks(t)
	a, _ := Open(Config{OnHeap: true})
	p := New[point](a)
	a.Reset()
	if p.N == 0 {
		t.Error("freed memory is not poisoned")
	}
	p.N = 5
	wantStaleWrite(t, func() { New[point](a) })
}

// Reset poisons only what was handed out: behind it, a stale write is still found.
func TestWriteIsDetectedAfterMoreRounds(t *testing.T) {
	needChecks(t)
	a, _ := Open(Config{OnHeap: true})
	s := MakeSlice[int64](a, 1000)
	a.Reset()
	s[900] = 5
	for range 3 {
		New[point](a)
		a.Reset()
	}
	wantStaleWrite(t, func() { MakeSlice[int64](a, 1000) })
}

func TestWriteToWhatAppendToAddedIsDetected(t *testing.T) {
	needChecks(t)
	a, _ := Open(Config{OnHeap: true})
	s := AppendTo(a, []int64(nil), 1)
	s = AppendTo(a, s, make([]int64, 100)...)
	a.Reset()
	if s[90] == 0 {
		t.Error("freed memory is not poisoned")
	}
	s[90] = 5
	first := AppendTo(a, []int64(nil), 1)
	wantStaleWrite(t, func() { AppendTo(a, first, make([]int64, 100)...) })
}

func TestWriteAfterRewindIsDetected(t *testing.T) {
	needChecks(t)
	for _, heap := range []bool{true, false} {
		a, _ := Open(Config{OnHeap: heap})
		New[int](a)
		m := a.Mark()
		p := New[point](a)
		a.Rewind(m)
		p.N = 5
		wantStaleWrite(t, func() { New[point](a) })
		a.Release()
	}
}

func TestAccessToMappedMemoryAfterResetFaults(t *testing.T) {
	needChecks(t)
	if invariant.Race {
		t.Skip("race builds map nothing")
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for name, free := range map[string]func(*Arena){"Reset": (*Arena).Reset, "Release": (*Arena).Release} {
		a, _ := Open(Config{})
		p := New[point](a)
		p.N = 5
		free(a)
		if err := panicError(t, func() { p.N++ }); err == nil || !strings.Contains(err.Error(), "invalid memory address") {
			t.Errorf("write after %s: %v, want a fault", name, err)
		}
		if name == "Reset" {
			New[point](a).N = 1
			a.Release()
		}
	}
}

func TestForeignBytesAreDetected(t *testing.T) {
	needChecks(t)
	a, _ := Open(Config{})
	defer a.Release()
	if err := panicError(t, func() { a.String([]byte("heap")) }); err == nil || !strings.Contains(err.Error(), "not from this arena") {
		t.Errorf("String of other bytes: %v, want a panic", err)
	}
}

func TestTypedWriteAfterResetIsDetected(t *testing.T) {
	needChecks(t)
	type node struct {
		next *node
		name string
		n    int
		_    bool
	}
	for name, write := range map[string]func(*node){
		"number":  func(p *node) { p.n = 5 },
		"pointer": func(p *node) { p.next = p },
		"string":  func(p *node) { p.name = "x" },
	} {
		a, _ := OpenTyped[node](TypedConfig{})
		a.New()
		m := a.Mark()
		rewound := a.New()
		a.Rewind(m)
		write(rewound)
		wantStaleWrite(t, func() { a.New() })
		a.Reset()
		p := a.New()
		a.Reset()
		if p.n == 0 || p.next != nil || p.name != "" {
			t.Errorf("%s: the freed value is %+v; want poison for numbers, nil for pointers", name, *p)
		}
		write(p)
		wantStaleWrite(t, func() { a.New() })
	}
}
