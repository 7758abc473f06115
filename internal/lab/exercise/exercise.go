// Package exercise holds the eighteen exercises of seed document 003: a pattern
// that allocates more than it should, its remedy, and for some a second remedy,
// or a case in which a later Go version removed the effect. All variants of an
// exercise give the same result. Details that the document leaves open (a
// callee's body, the size of the data) are chosen to isolate the pattern. Where
// the document's effect depends on it, callees are not inlined; a variant named
// inlined shows the other case.
//
// The workload exercises of package workload measures them.
package exercise

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
)

// An Exercise is a pattern, its remedy and other variants. Prepare creates what must exist before
// the measured phase; nil for nothing.
type Exercise struct {
	Name     string
	Prepare  func(*Input)
	Variants variants
}

type variants map[string]func(*Input) uint64

// All are the exercises in the order of the document.
var All = [...]Exercise{
	{"sprintf", nil, variants{"before": sprintfBefore, "after": sprintfAfter}},
	{"byteconv", nil, variants{"before": byteconvBefore, "after": byteconvAfter,
		"unsafe": byteconvUnsafe, "kept": byteconvKept}},
	{"stringconv", nil, variants{"before": stringconvBefore, "after": stringconvAfter}},
	{"concatloop", nil, variants{"before": concatBefore, "after": concatAfter, "nogrow": concatNoGrow}},
	{"prealloc", nil, variants{"before": preallocBefore, "after": preallocAfter, "index": preallocIndex}},
	{"bufferpercall", nil, variants{"before": bufferBefore, "after": bufferAfter, "pool": bufferPool}},
	{"closurecapture", nil, variants{"before": closureBefore, "after": closureAfter}},
	{"boxing", nil, variants{"before": boxingBefore, "after": boxingAfter, "slog": boxingSlog}},
	{"optionalpointer", nil, variants{"before": optionalBefore, "after": optionalAfter, "sidetable": optionalSideTable}},
	{"timeafter", nil, variants{"before": timeAfterBefore, "after": timeAfterAfter}},
	{"jsonloop", nil, variants{"before": jsonBefore, "after": jsonAfter}},
	{"regexpcompile", nil, variants{"before": regexpBefore, "after": regexpAfter, "lazy": regexpLazy}},
	{"pointerkey", prepareKeys, variants{"before": keyBefore, "after": keyAfter}},
	{"deferloop", nil, variants{"before": deferBefore, "after": deferAfter, "explicit": deferExplicit}},
	{"errorsnew", nil, variants{"before": errorsBefore, "after": errorsAfter, "inlined": errorsInlined}},
	{"resultslice", nil, variants{"before": resultBefore, "after": resultAfter, "iterator": resultIterator}},
	{"finalizer", nil, variants{"before": finalizerBefore, "after": finalizerAfter, "cleanup": finalizerCleanup}},
	{"pointerwrapper", nil, variants{"before": wrapperBefore, "after": wrapperAfter, "inlined": wrapperInlined}},
}

// VariantNames returns before, after, and the other variants in alphabetical
// order.
func (e Exercise) VariantNames() []string {
	names := []string{"before", "after"}
	for _, name := range slices.Sorted(maps.Keys(e.Variants)) {
		if !slices.Contains(names[:2], name) {
			names = append(names, name)
		}
	}
	return names
}

// Input is the data for the exercises. It belongs to one goroutine.
type Input struct {
	turn   uint64 // counts operations; varying values derive from it
	level  string
	msg    string
	token  string   // 180 bytes
	line   []byte   // 200 bytes
	fields []string // 50
	words  string   // 10 words
	ints   []int    // 1,000
	tags   []string
	slugs  []string
	items  []item   // 10
	buf    []byte   // memory owned by the caller
	tokens []string // likewise
	out    sumWriter
	keys   keys
	timers timers
	table  map[uint64]metadata
	held   resource

	// Only for Limits.
	numbers map[string]uint64
	head    atomic.Uint32
	Paths   []string // of small files
}

// NewInput returns the data for a seed.
func NewInput(seed uint64) *Input {
	rng := rand.New(rand.NewPCG(seed, 0x65786572))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = 'a' + byte(rng.IntN(26))
		}
		return string(b)
	}
	in := &Input{
		turn: rng.Uint64N(1 << 30), level: "INFO" + word(2), msg: word(40), token: word(180),
		line: []byte(word(200)),
		tags: []string{word(10), word(10), word(10)}, buf: make([]byte, 0, 1024), tokens: make([]string, 0, 32),
	}
	for range 50 {
		in.fields = append(in.fields, word(3+rng.IntN(6)))
	}
	for range 10 {
		in.items = append(in.items, item{rng.Uint64()})
		in.words += word(5) + " "
	}
	for range 1000 {
		in.ints = append(in.ints, rng.IntN(1<<20))
	}
	for range 8 {
		in.slugs = append(in.slugs, word(6)+"-"+word(8))
	}
	in.timers.work = make(chan uint64, 1)
	in.numbers = map[string]uint64{string(in.line): 1}
	return in
}

// sumWriter sums what is written to it, as text or as bytes.
type sumWriter struct{ sum uint64 }

func (w *sumWriter) Write(b []byte) (int, error) {
	for _, c := range b {
		w.sum = w.sum*31 + uint64(c)
	}
	return len(b), nil
}

func (w *sumWriter) WriteString(s string) (int, error) {
	for i := range len(s) {
		w.sum = w.sum*31 + uint64(s[i])
	}
	return len(s), nil
}

// take returns the sum and starts a new one.
func (w *sumWriter) take() uint64 {
	s := w.sum
	w.sum = 0
	return s
}

// Do performs n operations and returns the sum of their results.
func (in *Input) Do(op func(*Input) uint64, n int64) (sum uint64) {
	for range n {
		in.turn++
		sum += op(in)
	}
	return sum
}
