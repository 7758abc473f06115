package memtest

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A Watched pool counts the objects a test takes from a pool and gives back.
// Make one with Watch; it must not be copied. Any number of goroutines may call
// its methods.
type Watched[T any] struct {
	t   testing.TB
	get func() *T
	put func(*T)

	mu   sync.Mutex
	held map[*T]string // guarded by mu: who took it
}

// Watch stands between a test and a pool. When the test ends, it fails for
// objects that did not come back and names the lines that took them. It fails
// at once if an object comes back twice or was never taken. Use its methods Get
// and Put in place of the pool's own.
func Watch[T any](t testing.TB, get func() *T, put func(*T)) *Watched[T] {
	w := &Watched[T]{t: t, get: get, put: put, held: map[*T]string{}}
	t.Cleanup(w.check)
	return w
}

// Get takes an object from the pool.
func (w *Watched[T]) Get() *T {
	x := w.get()
	by := caller()
	w.mu.Lock()
	defer w.mu.Unlock()
	if first, ok := w.held[x]; ok && x != nil {
		w.t.Errorf("memtest: Watch: the pool hands %s an object that %s still holds; put each object once, and only when "+
			"nobody uses it", by, first)
	}
	w.held[x] = by
	return x
}

// Put gives an object back to the pool. An object that is not held is reported
// and does not reach the pool.
func (w *Watched[T]) Put(x *T) {
	w.mu.Lock()
	_, ok := w.held[x]
	delete(w.held, x)
	w.mu.Unlock()
	if !ok {
		w.t.Errorf("memtest: Watch: %s puts an object that is not held; put each object once, and only what Get returned",
			caller())
		return
	}
	w.put(x)
}

// Held returns how many objects have not come back yet.
func (w *Watched[T]) Held() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.held)
}

func (w *Watched[T]) check() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) == 0 {
		return
	}
	count := map[string]int{}
	for _, by := range w.held {
		count[by]++
	}
	var lines []string
	for _, by := range slices.Sorted(maps.Keys(count)) {
		lines = append(lines, fmt.Sprintf("%d taken at %s", count[by], by))
	}
	w.t.Errorf("memtest: Watch: %d objects did not come back; put them back on every path, including errors:\n\t%s",
		len(w.held), strings.Join(lines, "\n\t"))
}

// caller returns the file and line that called Get or Put.
func caller() string {
	_, file, line, ok := runtime.Caller(2)
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("%s:%d", file[strings.LastIndexByte(file, '/')+1:], line)
}
