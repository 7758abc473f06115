package exhibit

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

func init() {
	register(&workload.Workload{
		Name:    "exercise-limits",
		Summary: "limits of the allocation exercises: trade-offs, and when not to apply them",
		Params: workload.WithBudget("0", "1s",
			workload.Choice("limit", "concat3", "case to run: "+strings.Join(limitNames(), ", "), limitNames()...),
		),
		New: newExerciseLimits,
	})
}

// exerciseLimits is what seed document 003 says besides its eighteen exercises: when a
// remedy does not pay, what it costs, and how the runtime works. The names of a pair start
// alike. A value escapes to the heap only if it does in the document's code.
type exerciseLimits struct {
	workload.Budgeted
	do    func(*limitState)
	state *limitState
}

// A limitState belongs to the only worker.
type limitState struct {
	turn  uint64 // counts operations, which derive their varying values from it
	msg   string
	line  []byte   // 200 bytes
	words []string // 3
	ints  []int    // 1,000
	tags  []string
	buf   []byte // reused by limitWritten
	sum   uint64
	short []byte // 32 bytes
	names map[string]int
	paths []string
	head  atomic.Uint32

	pool, pool256 sync.Pool // of buffers for short and line
}

var limitCases = map[string]func(*limitState){
	"atomic-add":      func(s *limitState) { s.head.Add(1) },
	"convert-short":   func(s *limitState) { s.sum += limitSumString(string(s.short)) },
	"convert-lookup":  func(s *limitState) { s.sum += uint64(s.names[string(s.line)]) },
	"convert-slice":   func(s *limitState) { s.sum += limitSumBytes(s.short) },
	"concat3":         func(s *limitState) { limitString = s.words[0] + s.words[1] + s.words[2] },
	"concat3-builder": limitBuilder,
	"append4":         func(s *limitState) { s.sum += appended(s.ints[:4]) },
	"buffer32":        func(s *limitState) { limitBytes = append(make([]byte, 0, 32), s.short...) },
	"buffer32-pool":   func(s *limitState) { s.sum += pooled(&s.pool, s.short) },
	"buffer256":       func(s *limitState) { limitBytes = append(make([]byte, 0, 256), s.line...) },
	"buffer256-pool":  func(s *limitState) { s.sum += pooled(&s.pool256, s.line) },
	"defer3-loop":     func(s *limitState) { deferLoop(s, 3) },
	"defer3-row":      deferRow,
	"predicate":       limitPredicate,
	"predicate-typed": limitPredicateTyped,
	"box-small":       func(s *limitState) { s.turn++; limitAny = int(s.turn % 256) },
	"json-marshal":    limitMarshal,
	"json-written":    limitWritten,
	"files-deferred":  func(s *limitState) { s.sum += uint64(filesDeferred(s.paths)) },
	"files-extracted": func(s *limitState) { s.sum += uint64(filesExtracted(s.paths)) },
	"malloc-16":       func(s *limitState) { limitBytes = make([]byte, 16) },
	"malloc-2048":     func(s *limitState) { limitBytes = make([]byte, 2048) },
	"malloc-32768":    func(s *limitState) { limitBytes = make([]byte, 32768) },
	"timer-dropped":   func(s *limitState) { limitTimer = time.After(time.Hour) },
}

// Results of the last operation, owned by the only worker.
var (
	//lint:ignore U1000 written but never read
	limitBytes []byte
	//lint:ignore U1000 written but never read
	limitString string
	//lint:ignore U1000 written but never read
	limitAny any
	//lint:ignore U1000 written but never read
	limitTimer <-chan time.Time
)

func limitNames() []string { return slices.Sorted(maps.Keys(limitCases)) }

func newExerciseLimits(env workload.Env) (workload.Task, error) {
	name := env.Params.String("limit")
	s := newLimitState(env.Seed)
	if strings.HasPrefix(name, "files-") {
		var err error
		if s.paths, err = someFiles(10); err != nil {
			return nil, fmt.Errorf("files to open: %w: set TMPDIR to a directory with room", err)
		}
	}
	return &exerciseLimits{Budgeted: env.Budget, do: limitCases[name], state: s}, nil
}

func newLimitState(seed uint64) *limitState {
	rng := rand.New(rand.NewPCG(seed, 0x6c696d69))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = 'a' + byte(rng.IntN(26))
		}
		return string(b)
	}
	s := &limitState{
		turn: rng.Uint64N(1 << 30), msg: word(40), line: []byte(word(200)), words: []string{word(5), word(6), word(7)},
		tags: []string{word(10), word(10), word(10)}, buf: make([]byte, 0, 1024), names: map[string]int{},
	}
	for range 1000 {
		s.ints = append(s.ints, rng.IntN(1<<20))
	}
	s.short = s.line[:32]
	s.names[string(s.line)] = 1
	s.pool.New = func() any { b := make([]byte, 0, 32); return &b }
	s.pool256.New = func() any { b := make([]byte, 0, 256); return &b }
	return s
}

// deferLoop defers n calls in a loop; deferRow three, one after the other.
//
//go:noinline
func deferLoop(s *limitState, n int) {
	for range n {
		defer func() { s.sum++ }()
	}
}

//go:noinline
func deferRow(s *limitState) {
	defer func() { s.sum++ }()
	defer func() { s.sum++ }()
	defer func() { s.sum++ }()
}

// A limitMessage is the message of json-marshal and json-written.
type limitMessage struct {
	ID   uint64
	Name string
	Tags []string
}

// someFiles makes n small files in a new directory.
func someFiles(n int) (paths []string, err error) {
	dir, err := os.MkdirTemp("", "isobar-files-")
	if err != nil {
		return nil, err
	}
	for i := range n {
		path := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(path, []byte(path), 0o600); err != nil {
			os.RemoveAll(dir)
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func (t *exerciseLimits) Loop(_ int, n int64) uint64 {
	for range n {
		t.do(t.state)
	}
	return t.state.sum
}

// Report adds the live bytes after a collection, per operation: what an operation leaks
// although nothing refers to it.
func (t *exerciseLimits) Report(rec *cell.Record) {
	limitBytes, limitString, limitAny, limitTimer = nil, "", nil, nil
	runtime.GC() // an object with a finalizer takes two
	left := collected().HeapAlloc
	if ops := rec.Metrics[cell.Ops]; ops > 0 {
		rec.Set("/limit/left:B", float64(left)/ops)
	}
}

func (t *exerciseLimits) Close() error {
	if len(t.state.paths) > 0 {
		return os.RemoveAll(filepath.Dir(t.state.paths[0]))
	}
	return nil
}

//go:noinline
func limitSumString(s string) (sum uint64) {
	for i := range len(s) {
		sum = sum*31 + uint64(s[i])
	}
	return sum
}

//go:noinline
func limitSumBytes(b []byte) (sum uint64) {
	for _, c := range b {
		sum = sum*31 + uint64(c)
	}
	return sum
}

func limitBuilder(s *limitState) {
	var b strings.Builder
	b.Grow(len(s.words[0]) + len(s.words[1]) + len(s.words[2]))
	b.WriteString(s.words[0])
	b.WriteString(s.words[1])
	b.WriteString(s.words[2])
	limitString = b.String()
}

// pooled fills a buffer from a pool.
func pooled(pool *sync.Pool, from []byte) uint64 {
	b := pool.Get().(*[]byte)
	*b = append((*b)[:0], from...)
	sum := uint64((*b)[0])
	pool.Put(b)
	return sum
}

//go:noinline
func appended(in []int) (sum uint64) {
	var out []int
	for _, x := range in {
		out = append(out, 2*x)
	}
	for _, x := range out {
		sum += uint64(x)
	}
	return sum
}

func limitPredicate(s *limitState) {
	threshold := s.ints[0]
	s.sum += countIf(s.ints, func(x int) bool { return x > threshold })
}

//go:noinline
func countIf(in []int, test func(int) bool) (n uint64) {
	for _, x := range in {
		if test(x) {
			n++
		}
	}
	return n
}

type above int

func (a above) test(x int) bool { return x > int(a) }

func limitPredicateTyped(s *limitState) { s.sum += countAbove(s.ints, above(s.ints[0])) }

//go:noinline
func countAbove(in []int, a above) (n uint64) {
	for _, x := range in {
		if a.test(x) {
			n++
		}
	}
	return n
}

func limitMarshal(s *limitState) {
	s.turn++
	b, err := json.Marshal(limitMessage{s.turn, s.msg, s.tags})
	if err != nil {
		panic(err) // a plain struct always encodes
	}
	s.sum += limitSumBytes(b)
}

// limitWritten mimics generated code: no reflection, one buffer. The strings need no JSON escapes.
func limitWritten(s *limitState) {
	s.turn++
	b := append(s.buf[:0], `{"ID":`...)
	b = strconv.AppendUint(b, s.turn, 10)
	b = append(b, `,"Name":"`...)
	b = append(b, s.msg...)
	b = append(b, `","Tags":[`...)
	for i, tag := range s.tags {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, tag...)
		b = append(b, '"')
	}
	b = append(b, "]}"...)
	s.buf = b
	s.sum += limitSumBytes(b)
}

func filesDeferred(paths []string) int {
	for _, path := range paths {
		defer opened(path).Close()
	}
	return len(paths)
}

func filesExtracted(paths []string) int {
	for _, path := range paths {
		openAndClose(path)
	}
	return len(paths)
}

func openAndClose(path string) { opened(path).Close() }

func opened(path string) *os.File {
	f, err := os.Open(path)
	if err != nil {
		panic(err) // the files are this workload's own
	}
	return f
}
