package image

import "testing"

// TestBlockEnds looks for pointers in blocks of a damaged stack. It must end, and
// read nothing outside of the copy.
func TestBlockEnds(t *testing.T) {
	const last = ^uint64(0)
	for _, s := range []stack{
		{lo: last, hi: last, start: last},
		{lo: 1 << 40, hi: 1<<40 + 16, start: 1 << 40, data: make([]byte, 16)},
	} {
		w := &walker{im: &Image{}, s: &s}
		if len(s.data) > 0 {
			le.PutUint64(s.data[8:], s.lo+1) // into the stack itself
		}
		for _, from := range []uint64{0, s.start, last - 8, last} {
			w.pointers = nil
			w.block(from, last, "")
			if want := min(len(s.data)/16, 1); from <= s.start && len(w.pointers) != want {
				t.Errorf("stack from %#x, block from %#x: pointers %x, want %d", s.lo, from, w.pointers, want)
			}
		}
	}
}

func TestStarted(t *testing.T) {
	const group = "sync.(*WaitGroup).Go.func1"
	for _, c := range []struct {
		first, want string
		frames      []string
	}{
		{group, "main.serve.func2", []string{"runtime.gopark", "main.work", "main.serve.func2", group, "runtime.goexit"}},
		{group, group, []string{"runtime.gopark", group, "runtime.goexit"}}, // not there yet
		{group, group, nil},
		{"golang.org/x/sync/errgroup.(*Group).Go.func1", "main.fetch", []string{"main.fetch",
			"golang.org/x/sync/errgroup.(*Group).Go.func1", "runtime.goexit"}},
		{"main.serve", "main.serve", []string{"main.work", "main.serve", "runtime.goexit"}},
	} {
		if got := started(c.first, c.frames); got != c.want {
			t.Errorf("%s of %q: %s, want %s", c.first, c.frames, got, c.want)
		}
	}
}
