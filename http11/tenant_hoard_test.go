package http11_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/isobar-go/isobar/http11"
)

// A kept is what a handler received and kept.
type kept struct {
	s *sent

	// Of a native handler.
	c        *http11.Context
	request  http11.Request
	views    []http11.View // none is empty
	values   http11.Values
	fields   func(func(name, value http11.View) bool)
	reader   io.Reader
	conn     net.Conn
	retained *http11.Retained

	// Of an adapted one.
	w      http.ResponseWriter
	r      *http.Request
	body   io.ReadCloser
	header http.Header

	// mu serializes the use of kept things that allow one goroutine at a time: a
	// Retained and a header map.
	mu       sync.Mutex
	released bool // guarded by mu
}

func (k *kept) part() string { return k.s.part() }

func (k *kept) release() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.retained != nil && !k.released {
		k.released = true
		k.retained.Release()
	}
}

// mark is what a late writer writes.
func (k *kept) mark() string { return lateMark + k.s.token }

// A hoard collects what handlers kept. Its entries belong to requests whose
// handlers have returned, unless they are racy or cut.
type hoard struct {
	mu   sync.Mutex
	kept []*kept // oldest first from next on; guarded by mu
	next int     // guarded by mu
	over bool    // nothing more is kept; guarded by mu
}

const hoarded = 256

func (h *hoard) add(k *kept) {
	h.mu.Lock()
	var old *kept
	switch {
	case h.over:
		old = k
	case len(h.kept) < hoarded:
		h.kept = append(h.kept, k)
	default:
		old, h.kept[h.next] = h.kept[h.next], k
		h.next = (h.next + 1) % hoarded
	}
	h.mu.Unlock()
	if old != nil {
		old.release()
	}
}

// end releases everything, including later additions.
func (h *hoard) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	for _, k := range h.kept {
		k.release()
	}
}

// pick returns one of the last few, or any; nil if there is none.
func (h *hoard) pick(rng *rand.Rand) *kept {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.kept)
	if n == 0 {
		return nil
	}
	i := rng.IntN(n)
	if rng.IntN(2) == 0 {
		i = n - 1 - rng.IntN(min(n, 16))
	}
	return h.kept[(h.next+i)%n]
}

// publish moves what the handler of s has kept to the hoard, once.
func (w *world) publish(s *sent) *kept {
	k := s.kept.Swap(nil)
	switch {
	case k == nil:
	case !w.spec.hoards(k.part()):
		k.release()
		return nil
	default:
		w.hoard.add(k)
	}
	return k
}

// A keeper is a middleware's writer that keeps what it is given to write.
type keeper struct {
	io.Writer
	w    *world
	s    *sent
	kept [][]byte
}

func (k *keeper) Write(p []byte) (int, error) {
	k.kept = append(k.kept, p)
	return k.Writer.Write(p)
}

func (k *keeper) Close() error {
	k.w.keepers[k.s.token[tokenBytes-2]%16].Store(k)
	return nil
}

// look finds bytes of other requests in what the writer has kept.
func (k *keeper) look() {
	found := func(kind, text string) {
		k.w.found(kind, k.s.part(), fmt.Sprintf("kept by the writer of %s%s: %s", k.s.route, k.s.token, text))
	}
	for _, p := range k.kept {
		(&watch{own: map[string]*sent{k.s.token: k.s}, found: found}).look(p)
	}
}

// lateUsers use kept things until stop is closed.
func (w *world) lateUsers(n int, stop chan struct{}) {
	for i := range n {
		w.busy.Go(func() {
			rng := rand.New(rand.NewPCG(w.spec.Seed, uint64(1000+i)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				if k := w.keepers[rng.IntN(len(w.keepers))].Load(); k != nil && w.spec.hoards(k.s.part()) {
					k.look()
				}
				if k := w.hoard.pick(rng); k != nil {
					for range 1 + rng.IntN(4) {
						w.useLate(k, rng)
					}
				}
				if rng.IntN(4) == 0 {
					time.Sleep(time.Duration(rng.IntN(300)) * time.Microsecond)
				} else {
					runtime.Gosched()
				}
			}
		})
	}
}

// misuse uses what others have kept from within the handler of s, on the
// goroutine that runs it.
func (w *world) misuse(s *sent, rng *rand.Rand) {
	if !w.spec.Native && !w.spec.Adapted {
		return
	}
	if p := s.prev; p != nil {
		p.over.Store(true) // as this handler runs on its connection
		if k := w.publish(p); k != nil {
			w.useLate(k, rng)
		}
	}
	for range rng.IntN(3) {
		if k := w.hoard.pick(rng); k != nil && k.s != s {
			w.useLate(k, rng)
		}
	}
}

// atReturn is called last by the handlers of racy requests: goroutines use
// everything while the handler returns.
func (w *world) atReturn(k *kept, rng *rand.Rand) {
	if !k.s.racy || !w.spec.hoards(k.part()) {
		return
	}
	uses := w.racyUses(k)
	began := make(chan struct{}, len(uses))
	for _, use := range uses {
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		w.busy.Go(func() {
			began <- struct{}{}
			for range 10 + own.IntN(40) {
				w.judge(k, false, use(own))
				if own.IntN(4) == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	if rng.IntN(2) == 0 {
		for range uses {
			<-began
		}
	}
}

// A use is a way to use a kept thing.
type use struct {
	name string
	// silent says that misuse shows neither as an error nor as a panic.
	silent bool
	// named is the error that misuse must return; nil for any.
	named error
	do    func(*rand.Rand) (data []byte, err error)
}

// An outcome is the result of a use.
type outcome struct {
	use
	data     []byte
	err      error
	panicked any
}

// run runs a use and catches its panic.
func (u use) run(rng *rand.Rand) (o outcome) {
	o.use = u
	defer func() { o.panicked = recover() }()
	o.data, o.err = u.do(rng)
	return o
}

// runNative is run for things of a native handler. Its name distinguishes race
// reports.
func (u use) runNative(rng *rand.Rand) outcome { return u.run(rng) }

// useLate uses k in a random way after the handler has returned.
func (w *world) useLate(k *kept, rng *rand.Rand) {
	over := k.s.over.Load() // before the use
	w.late.Add(1)
	if k.c == nil {
		uses := w.adaptedUses(k, over)
		w.judge(k, over, uses[rng.IntN(len(uses))].run(rng))
		return
	}
	if k.retained != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		if rng.IntN(3) == 0 {
			w.useRetained(k, rng)
			return
		}
	}
	uses := w.contextUses(k, over)
	if rng.IntN(3) == 0 {
		uses = w.requestUses(k)
	}
	u := uses[rng.IntN(len(uses))]
	if k.retained != nil {
		u.silent = true // it may be in use still
	}
	w.judge(k, over, u.runNative(rng))
}

// judge checks the outcome of a use. over says that the server knew by then
// that the handler had returned.
func (w *world) judge(k *kept, over bool, o outcome) {
	who := fmt.Sprintf("%s of %s %s%s", o.name, k.s.method, k.s.route, k.s.token)
	if !k.s.owns(o.data) {
		w.found("read", k.part(), fmt.Sprintf("%s returned %.80q", who, o.data))
	}
	switch {
	case o.panicked != nil:
		switch {
		case k.c == nil:
			w.found("panic", k.part(), fmt.Sprintf("%s panicked: %.200v", who, o.panicked))
		case over && !strings.HasPrefix(fmt.Sprint(o.panicked), "http11: "):
			w.found("unnamed", k.part(), fmt.Sprintf("%s panicked without naming the misuse: %.200v", who, o.panicked))
		}
		w.noticed.Add(1)
	case o.err != nil:
		if over && o.named != nil && !errors.Is(o.err, o.named) {
			w.found("unnamed", k.part(), fmt.Sprintf("%s, late, failed with %v, want %v", who, o.err, o.named))
		}
		w.noticed.Add(1)
	case over && !o.silent:
		w.found("unnoticed", k.part(), who+", late, gave neither an error nor a panic")
	}
}

// useRetained checks a retained request, which must be intact until its
// release, and sometimes releases it. k.mu is held.
func (w *world) useRetained(k *kept, rng *rand.Rand) {
	if k.released {
		w.judge(k, true, use{name: "Retained.Request", do: func(*rand.Rand) ([]byte, error) {
			return k.retained.Request().Path().Clone(), nil
		}}.runNative(rng))
		v := k.views[rng.IntN(len(k.views))]
		o := use{name: "View of a released Retained", do: func(*rand.Rand) ([]byte, error) {
			return v.Clone(), nil
		}}.runNative(rng)
		o.silent = true // the request goes on until its response has been sent, too
		w.judge(k, true, o)
		return
	}
	o := use{name: "Retained", do: func(*rand.Rand) ([]byte, error) {
		q := k.retained.Request()
		if got := q.Path().String(); got != k.s.route+k.s.token {
			return []byte(got), errors.New("the path has changed")
		}
		if got := q.Header("X-Token").String(); got != k.s.token {
			return []byte(got), errors.New("a field has changed")
		}
		if got, ok := k.values.Get("c"); !ok || !got.Equal(k.s.token) {
			return got.Clone(), errors.New("a decoded value has changed")
		}
		for _, v := range k.views {
			if data := v.Clone(); !k.s.owns(data) || len(data) == 0 {
				return data, errors.New("a view has changed")
			}
		}
		return nil, nil
	}}.run(rng)
	if o.err != nil || o.panicked != nil {
		w.found("retained", k.part(), fmt.Sprintf("%s%s: %v %v: %.80q", k.s.route, k.s.token, o.err, o.panicked, o.data))
	}
	if rng.IntN(3) == 0 {
		k.released = true
		k.retained.Release()
	}
}
