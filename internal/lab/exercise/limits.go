package exercise

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"time"
)

// Limits is what seed document 003 says besides its eighteen exercises: when a remedy does not pay, what
// it costs, and how the runtime works. The names of a pair start alike. A value escapes to the heap only
// if it does in the document's code.
var Limits = variants{
	"atomic-add":      func(in *Input) uint64 { return uint64(in.head.Add(1)) },
	"convert-short":   func(in *Input) uint64 { return sumString(string(in.line[:32])) },
	"convert-lookup":  func(in *Input) uint64 { return in.numbers[string(in.line)] },
	"convert-slice":   func(in *Input) uint64 { return sumBytes(in.line[:32]) },
	"concat3":         func(in *Input) uint64 { sinkString = in.tags[0] + in.tags[1] + in.tags[2]; return 0 },
	"concat3-builder": concat3Builder,
	"append4":         func(in *Input) uint64 { return appended(in.ints[:4]) },
	"buffer32":        func(in *Input) uint64 { sinkBytes = append(make([]byte, 0, 32), in.line[:32]...); return 0 },
	"buffer32-pool":   func(in *Input) uint64 { return pooled(in.line[:32]) },
	"buffer256":       func(in *Input) uint64 { sinkBytes = append(make([]byte, 0, 256), in.line...); return 0 },
	"buffer256-pool":  func(in *Input) uint64 { return pooled(in.line) },
	"defer3-loop":     func(in *Input) uint64 { return deferLoop(in, 3) },
	"defer3-row":      deferRow,
	"predicate":       predicate,
	"predicate-typed": func(in *Input) uint64 { return countAbove(in.ints, above(in.ints[0])) },
	"box-small":       func(in *Input) uint64 { sinkNode = int(in.turn % 256); return 0 },
	"json-marshal":    jsonMarshal,
	"json-written":    jsonWritten,
	"files-deferred":  filesDeferred,
	"files-extracted": filesExtracted,
	"malloc-16":       func(*Input) uint64 { sinkBytes = make([]byte, 16); return 0 },
	"malloc-2048":     func(*Input) uint64 { sinkBytes = make([]byte, 2048); return 0 },
	"malloc-32768":    func(*Input) uint64 { sinkBytes = make([]byte, 32768); return 0 },
	"timer-dropped":   func(*Input) uint64 { sinkTimer = time.After(time.Hour); return 0 },
}

//lint:ignore U1000 written but never read
var sinkTimer <-chan time.Time

func concat3Builder(in *Input) uint64 {
	var b strings.Builder
	b.Grow(len(in.tags[0]) + len(in.tags[1]) + len(in.tags[2]))
	b.WriteString(in.tags[0])
	b.WriteString(in.tags[1])
	b.WriteString(in.tags[2])
	sinkString = b.String()
	return 0
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

// pooled fills a buffer from a pool.
func pooled(from []byte) uint64 {
	b := buffers.Get().(*[]byte)
	*b = append((*b)[:0], from...)
	sum := uint64((*b)[0])
	buffers.Put(b)
	return sum
}

// deferLoop defers n calls in a loop; deferRow three, one after the other.
//
//go:noinline
func deferLoop(in *Input, n int) uint64 {
	for range n {
		defer func() { in.turn++ }()
	}
	return in.turn
}

//go:noinline
func deferRow(in *Input) uint64 {
	defer func() { in.turn++ }()
	defer func() { in.turn++ }()
	defer func() { in.turn++ }()
	return in.turn
}

func predicate(in *Input) uint64 {
	threshold := in.ints[0]
	return countIf(in.ints, func(x int) bool { return x > threshold })
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

//go:noinline
func countAbove(in []int, a above) (n uint64) {
	for _, x := range in {
		if a.test(x) {
			n++
		}
	}
	return n
}

func jsonMarshal(in *Input) uint64 {
	b, err := json.Marshal(message{in.turn, in.msg, in.tags})
	if err != nil {
		panic(err) // a plain struct always encodes
	}
	return sumBytes(b)
}

// jsonWritten mimics generated code: no reflection, one buffer. The strings need no JSON escapes.
func jsonWritten(in *Input) uint64 {
	b := append(in.buf[:0], `{"ID":`...)
	b = strconv.AppendUint(b, in.turn, 10)
	b = append(b, `,"Name":"`...)
	b = append(b, in.msg...)
	b = append(b, `","Tags":[`...)
	for i, tag := range in.tags {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, tag...)
		b = append(b, '"')
	}
	in.buf = append(b, "]}"...)
	return sumBytes(in.buf)
}

func filesDeferred(in *Input) uint64 {
	for _, path := range in.Paths {
		defer opened(path).Close()
	}
	return in.turn
}

func filesExtracted(in *Input) uint64 {
	for _, path := range in.Paths {
		openAndClose(path)
	}
	return in.turn
}

func openAndClose(path string) { opened(path).Close() }

func opened(path string) *os.File {
	f, err := os.Open(path)
	if err != nil {
		panic(err) // the files are the workload's own
	}
	return f
}
