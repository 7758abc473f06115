package graph

import (
	"testing"

	"github.com/isobar-go/isobar/internal/heap/image"
)

// TestByKind: a call in progress of the runtime and a list of pools come after what holds longer.
func TestByKind(t *testing.T) {
	last := 0
	for i, tc := range []struct {
		kind           image.Kind
		name, function string
	}{
		{image.Global, "main.server", ""},
		{image.Stack, "goroutine main.serve", "main.(*store).put"},
		{image.Stack, "goroutine main.serve", "internal/runtime/maps.(*table).split"},
		{image.Stack, "goroutine main.serve", "runtime.chansend"},
		{image.Global, "sync.allPools", ""},
		{image.Finalizer, "finalizers and cleanups", ""},
		{image.Register, "registers", ""},
	} {
		at := ByKind(&image.Root{Kind: tc.kind, Func: tc.function}, tc.name)
		if passing := i == 2; at < last || at == last && passing || at >= ranks {
			t.Errorf("%s in %q has rank %d of %d, after %d", tc.name, tc.function, at, ranks, last)
		}
		last = at
	}
}
