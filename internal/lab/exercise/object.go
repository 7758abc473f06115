package exercise

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"
)

// Values stored here escape, as they must for the exercises.
var (
	sinkError error
	//lint:ignore U1000 written but never read
	sinkNode any
	//lint:ignore U1000 written but never read
	sinkHandle *handle
)

// Exercise 7: goroutines that capture variables, ten items per operation.

type item struct{ n uint64 }

func handleItem(it item) uint64 { return it.n * 0x9e3779b97f4a7c15 }

func closureBefore(in *Input) uint64 { return in.turn ^ added(captured(in.items)) }
func closureAfter(in *Input) uint64  { return in.turn ^ added(passed(in.items)) }

func added(list []uint64) (sum uint64) {
	for _, x := range list {
		sum += x
	}
	return sum
}

//go:noinline
func captured(items []item) []uint64 {
	results := make([]uint64, len(items))
	var wg sync.WaitGroup
	for i, it := range items {
		wg.Add(1)
		go func() {
			defer wg.Done()
			results[i] = handleItem(it)
		}()
	}
	wg.Wait()
	return results
}

//go:noinline
func passed(items []item) []uint64 {
	results := make([]uint64, len(items))
	var wg sync.WaitGroup
	for i, it := range items {
		wg.Add(1)
		go func(i int, it item) {
			defer wg.Done()
			results[i] = handleItem(it)
		}(i, it)
	}
	wg.Wait()
	return results
}

// Exercise 8: numbers passed as any. The values exceed 255, because smaller
// ones do not allocate.

func boxingBefore(in *Input) uint64 {
	return logAny("user", int64(in.turn|1<<20), "score", int(in.turn%1000+1000))
}

//go:noinline
func logAny(args ...any) (sum uint64) {
	for _, a := range args {
		switch a := a.(type) {
		case int64:
			sum = sum*31 + uint64(a)
		case int:
			sum = sum*31 + uint64(a)
		}
		sinkNode = a
	}
	return sum
}

func boxingAfter(in *Input) uint64 {
	sum := logOne(0, "user", int64(in.turn|1<<20))
	return logOne(sum, "score", int(in.turn%1000+1000))
}

//go:noinline
func logOne[T ~int | ~int64](sum uint64, key string, v T) uint64 {
	sinkString = key
	return sum*31 + uint64(v)
}

func boxingSlog(in *Input) uint64 {
	logger.Info("event", "user", int64(in.turn|1<<20), "score", int(in.turn%1000+1000))
	return logged.sum
}

// logged is a slog.Handler that adds up the numbers of a record. It
// belongs to the only worker.
var (
	logged = &sumHandler{}
	logger = slog.New(logged)
)

type sumHandler struct{ sum uint64 }

func (h *sumHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *sumHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *sumHandler) WithGroup(string) slog.Handler            { return h }
func (h *sumHandler) Handle(_ context.Context, r slog.Record) error {
	h.sum = 0
	r.Attrs(func(a slog.Attr) bool {
		h.sum = h.sum*31 + uint64(a.Value.Int64())
		return true
	})
	return nil
}

// Exercise 9: a struct and a small part of it, allocated separately.

type metadata struct {
	created time.Time
	author  string
}

type linkedNode struct {
	id   uint64
	name string
	meta *metadata
}

type flatNode struct {
	id      uint64
	name    string
	created time.Time
	author  string
}

// created replaces time.Now, so that results agree.
var created = time.Unix(1_700_000_000, 0)

func optionalBefore(in *Input) uint64 {
	n := &linkedNode{id: in.turn, name: in.level, meta: &metadata{created: created, author: in.msg}}
	sinkNode = n
	return n.id ^ uint64(len(n.meta.author))
}

func optionalAfter(in *Input) uint64 {
	n := &flatNode{id: in.turn, name: in.level, created: created, author: in.msg}
	sinkNode = n
	return n.id ^ uint64(len(n.author))
}

// plainNode is a node whose metadata, if any, is in a table.
type plainNode struct {
	id   uint64
	name string
}

// optionalSideTable keeps metadata in a map by the node's number. The table
// starts over at 1,000 entries, as nodes come and go.
func optionalSideTable(in *Input) uint64 {
	n := &plainNode{id: in.turn, name: in.level}
	sinkNode = n
	if len(in.table) == 0 {
		in.table = make(map[uint64]metadata, 1000)
	} else if len(in.table) >= 1000 {
		clear(in.table)
	}
	in.table[n.id] = metadata{created: created, author: in.msg}
	return n.id ^ uint64(len(in.table[n.id].author))
}

// Exercise 10: time.After in a select.

type timers struct {
	work  chan uint64
	timer *time.Timer
}

func timeAfterBefore(in *Input) uint64 {
	in.timers.work <- in.turn
	select {
	case w := <-in.timers.work:
		return w
	case <-time.After(time.Hour):
		return 0
	}
}

func timeAfterAfter(in *Input) uint64 {
	in.timers.work <- in.turn
	if in.timers.timer == nil {
		in.timers.timer = time.NewTimer(time.Hour)
	}
	in.timers.timer.Reset(time.Hour)
	select {
	case w := <-in.timers.work:
		return w
	case <-in.timers.timer.C:
		return 0
	}
}

// Exercise 13: a map whose keys hold pointers. An operation looks one up; the
// remedy's effect shows in the collector's work.

const keyCount = 200_000

type tenant struct{ id uint64 }

type pointerKey struct {
	tenant *tenant
	id     uint64
}

type scalarKey struct{ tenant, id uint64 }

type keys struct {
	tenants   []*tenant
	byPointer map[pointerKey]struct{}
	byNumber  map[scalarKey]struct{}
}

func prepareKeys(in *Input) {
	k := &in.keys
	for i := range uint64(1000) {
		k.tenants = append(k.tenants, &tenant{i})
	}
	k.byPointer = make(map[pointerKey]struct{}, keyCount)
	k.byNumber = make(map[scalarKey]struct{}, keyCount)
}

func keyBefore(in *Input) uint64 {
	k := &in.keys
	if len(k.byPointer) == 0 {
		for i := range uint64(keyCount) {
			k.byPointer[pointerKey{k.tenants[i%1000], i}] = struct{}{}
		}
	}
	id := in.turn % (2 * keyCount)
	if _, ok := k.byPointer[pointerKey{k.tenants[id%1000], id}]; ok {
		return 2 * in.turn
	}
	return in.turn
}

func keyAfter(in *Input) uint64 {
	k := &in.keys
	if len(k.byNumber) == 0 {
		for i := range uint64(keyCount) {
			k.byNumber[scalarKey{i % 1000, i}] = struct{}{}
		}
	}
	id := in.turn % (2 * keyCount)
	if _, ok := k.byNumber[scalarKey{k.tenants[id%1000].id, id}]; ok {
		return 2 * in.turn
	}
	return in.turn
}

// Exercise 14: defer in a loop, a hundred times per operation.

type resource struct{ open, closed uint64 }

func (r *resource) close() { r.closed += r.open }

// resource returns the operation's resource, opened.
func (in *Input) resource() *resource {
	in.held = resource{open: in.turn}
	return &in.held
}

func deferBefore(in *Input) uint64 {
	r := in.resource()
	deferAll(r)
	return r.closed
}

//go:noinline
func deferAll(r *resource) {
	for range 100 {
		defer r.close()
	}
}

func deferAfter(in *Input) uint64 {
	r := in.resource()
	for range 100 {
		deferOne(r)
	}
	return r.closed
}

//go:noinline
func deferOne(r *resource) { defer r.close() }

func deferExplicit(in *Input) uint64 {
	r := in.resource()
	for range 100 {
		r.close()
	}
	return r.closed
}

// Exercise 15: errors.New for each rejection.

var errBadAmount = errors.New("amount must be positive")

func errorsBefore(in *Input) uint64 {
	sinkError = validateNew(-int64(in.turn >> 1))
	return in.turn ^ uint64(len(sinkError.Error()))
}

//go:noinline
func validateNew(c int64) error {
	if c <= 0 {
		return errors.New("amount must be positive")
	}
	return nil
}

func errorsAfter(in *Input) uint64 {
	sinkError = validateSentinel(-int64(in.turn >> 1))
	return in.turn ^ uint64(len(sinkError.Error()))
}

//go:noinline
func validateSentinel(c int64) error {
	if c <= 0 {
		return errBadAmount
	}
	return nil
}

// errorsInlined is the pattern when the compiler sees that the error does not
// escape.
func errorsInlined(in *Input) uint64 {
	if err := validateShort(-int64(in.turn >> 1)); err != nil {
		return in.turn ^ uint64(len(err.Error()))
	}
	return 0
}

func validateShort(c int64) error {
	if c <= 0 {
		return errors.New("amount must be positive")
	}
	return nil
}

// Exercise 17: finalizers. The resource to close is a number.

type handle struct{ raw uint64 }

//go:noinline
func (h *handle) release() { h.raw = 0 }

func finalizerBefore(in *Input) uint64 {
	h := &handle{in.turn}
	runtime.SetFinalizer(h, (*handle).release)
	sinkHandle = h
	return h.raw
}

func finalizerAfter(in *Input) uint64 {
	h := &handle{in.turn}
	sinkHandle = h
	raw := h.raw
	h.release()
	return raw
}

func finalizerCleanup(in *Input) uint64 {
	h := &handle{in.turn}
	runtime.AddCleanup(h, func(uint64) {}, h.raw)
	sinkHandle = h
	return h.raw
}

// Exercise 18: a pointer to a struct of one number.

type userPointer struct{ v uint64 }

type userID uint64

func newUserShort(v uint64) *userPointer { return &userPointer{v} }

//go:noinline
func newUser(v uint64) *userPointer { return &userPointer{v} }

//go:noinline
func handlePointer(id *userPointer) uint64 { return id.v * 31 }

//go:noinline
func handleValue(id userID) uint64 { return uint64(id) * 31 }

func wrapperBefore(in *Input) uint64  { return handlePointer(newUser(in.turn)) }
func wrapperAfter(in *Input) uint64   { return handleValue(userID(in.turn)) }
func wrapperInlined(in *Input) uint64 { return handlePointer(newUserShort(in.turn)) }
