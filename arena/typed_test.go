package arena

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/base/gctest"
)

type tree struct {
	gctest.Value
	left, right *tree
	boxed       any
}

func build(a *Typed[tree], depth int) *tree {
	p := a.New()
	p.Value = gctest.New(depth)
	if depth > 0 {
		p.left, p.right = build(a, depth-1), build(a, depth-1)
	}
	return p
}

func verify(t *testing.T, p *tree, depth int) {
	t.Helper()
	p.Check(t, depth)
	if depth > 0 {
		verify(t, p.left, depth-1)
		verify(t, p.right, depth-1)
	}
}

// TestTypedSurvivesCollections holds trees of values with pointers in an arena.
func TestTypedSurvivesCollections(t *testing.T) {
	gctest.Survive(t, func(collect func()) {
		a, err := OpenTyped[tree](TypedConfig{ChunkBytes: minChunkBytes})
		if err != nil {
			t.Fatal(err)
		}
		kept := build(a, 6)
		m := a.Mark()
		for round := range gctest.Rounds {
			root := build(a, 4)
			collect()
			verify(t, kept, 6)
			verify(t, root, 4)
			a.Rewind(m)
			if round == 50 {
				a.Reset()
				kept = build(a, 6)
				m = a.Mark()
			}
		}
	})
}

func TestTypedResetDropsWhatItHeld(t *testing.T) {
	a, err := OpenTyped[tree](TypedConfig{})
	if err != nil {
		t.Fatal(err)
	}
	dropped := make(chan struct{})
	func() {
		big := new([1 << 20]byte)
		runtime.AddCleanup(big, func(int) { close(dropped) }, 0)
		a.New().boxed = big
	}()
	a.Reset()
	for range 1000 {
		runtime.GC()
		select {
		case <-dropped:
			runtime.KeepAlive(a)
			return
		default:
			runtime.Gosched() // the cleanup runs in its own goroutine
		}
	}
	t.Error("an object held by a value before Reset was not collected")
}

func TestTypedValuesAreZeroAndApart(t *testing.T) {
	a, err := OpenTyped[[3]any](TypedConfig{ChunkBytes: minChunkBytes})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		var all []*[3]any
		add := func(p *[3]any) {
			if *p != ([3]any{}) {
				t.Fatalf("value is %v, want zero", *p)
			}
			p[0] = len(all)
			all = append(all, p)
		}
		for i := range 1000 {
			add(a.New())
			s := a.MakeSlice(i % 70)
			if cap(s) != len(s) {
				t.Fatalf("cap %d, want %d", cap(s), len(s))
			}
			for j := range s {
				add(&s[j])
			}
		}
		for i, p := range all {
			if p[0] != i {
				t.Fatalf("value %d holds %v", i, p[0])
			}
		}
		a.Reset()
	}
}

func TestTypedAppendTo(t *testing.T) {
	a, _ := OpenTyped[string](TypedConfig{})
	var got, want []string
	for i := range 1000 {
		got, want = a.AppendTo(got, fmt.Sprint(i)), append(want, fmt.Sprint(i))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v", got)
	}
}

func TestTypedMarkRewindAndStats(t *testing.T) {
	a, _ := OpenTyped[int](TypedConfig{ChunkBytes: minChunkBytes})
	kept := a.MakeSlice(300)
	m := a.Mark()
	used := a.Stats().UsedBytes
	for range 3 {
		for i := range 5000 {
			*a.New() = i + 1
		}
		kept[299] = 7
		a.Rewind(m)
		if got := a.Stats().UsedBytes; got != used {
			t.Fatalf("%d bytes used after Rewind, want %d", got, used)
		}
	}
	if kept[299] != 7 {
		t.Error("Rewind freed what was allocated before the mark")
	}
	a.Reset()
	if got := a.Stats(); got.UsedBytes != 0 || got.ChunkBytes == 0 {
		t.Errorf("stats after Reset: %+v", got)
	}
	if !instrumented() {
		round := func() {
			a.Reset()
			for range 5000 {
				a.New()
			}
		}
		if n := testing.AllocsPerRun(5, round); n != 0 {
			t.Errorf("%v heap allocations per round, want 0", n)
		}
	}
}

func TestTypedOfNothing(t *testing.T) {
	a, _ := OpenTyped[struct{}](TypedConfig{})
	for range 100000 {
		if a.New() == nil {
			t.Fatal("nil")
		}
	}
	a.Reset()
	if got := a.Stats().UsedBytes; got != 0 {
		t.Errorf("%d bytes used", got)
	}
}

func TestTypedLimitAndMisuse(t *testing.T) {
	a, err := OpenTyped[tree](TypedConfig{ChunkBytes: minChunkBytes, LimitBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Reserve(10000); !errors.Is(err, ErrLimit) {
		t.Errorf("Reserve beyond the limit: %v, want ErrLimit", err)
	}
	err = panicError(t, func() {
		for range 10000 {
			a.New()
		}
	})
	if !errors.Is(err, ErrLimit) {
		t.Errorf("allocating past the limit: %v, want ErrLimit", err)
	}
	other, _ := OpenTyped[tree](TypedConfig{})
	closed, _ := OpenTyped[tree](TypedConfig{})
	closed.Release()
	for name, tc := range map[string]struct {
		f    func()
		want string
	}{
		"negative":      {func() { a.MakeSlice(-1) }, "arena: MakeSlice"},
		"absurd":        {func() { a.MakeSlice(math.MaxInt) }, "arena: MakeSlice"},
		"reserve":       {func() { _ = a.Reserve(-1) }, "arena: Reserve"},
		"foreign":       {func() { a.Rewind(other.Mark()) }, "another arena"},
		"stale":         {func() { m := a.Mark(); a.Reset(); a.Rewind(m) }, "before a Reset"},
		"release twice": {closed.Release, "arena: Release"},
	} {
		if err := panicError(t, tc.f); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want a panic that says %q", name, err, tc.want)
		}
	}
	for name, f := range map[string]func(){
		"New": func() { closed.New() }, "Reset": closed.Reset, "Mark": func() { closed.Mark() }, "Reserve": func() { _ = closed.Reserve(1) },
	} {
		if err := panicError(t, f); err == nil || !strings.Contains(err.Error(), "after Release") {
			t.Errorf("%s after Release: %v, want a panic", name, err)
		}
	}
	if _, err := OpenTyped[int](TypedConfig{ChunkBytes: 1}); err == nil || !strings.HasPrefix(err.Error(), "arena: OpenTyped: ") {
		t.Errorf("OpenTyped with chunks of a byte: %v, want an error", err)
	}
	if _, err := OpenTyped[[maxChunkBytes + 1]byte](TypedConfig{}); err == nil {
		t.Error("OpenTyped of absurdly large values succeeded")
	}
}
