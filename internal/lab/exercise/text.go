package exercise

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

// Sinks keep the result of an operation, so that it is on the heap. They belong to
// the only worker.
var (
	sinkString string
	sinkBytes  []byte
	sinkInts   []int
)

// Exercise 1: fmt.Sprintf in a hot path.

func sprintfBefore(in *Input) uint64 {
	writeLog(&in.out, in.level, int64(in.turn), in.msg)
	return in.out.take()
}

func writeLog(w io.Writer, level string, ts int64, msg string) {
	io.WriteString(w, formatPrefix(level, ts))
	io.WriteString(w, msg)
}

func formatPrefix(level string, ts int64) string { return fmt.Sprintf("[%s] %d ", level, ts) }

func sprintfAfter(in *Input) uint64 {
	in.buf = appendPrefix(in.buf[:0], in.level, int64(in.turn))
	in.buf = append(in.buf, in.msg...)
	in.out.Write(in.buf)
	return in.out.take()
}

func appendPrefix(dst []byte, level string, ts int64) []byte {
	dst = append(dst, '[')
	dst = append(dst, level...)
	dst = append(dst, ']', ' ')
	dst = strconv.AppendInt(dst, ts, 10)
	return append(dst, ' ')
}

// Exercise 2: []byte(string) on every request.

func byteconvBefore(in *Input) uint64 { return in.turn ^ sumBytes([]byte(in.token)) }
func byteconvAfter(in *Input) uint64  { return in.turn ^ sumString(in.token) }

// byteconvUnsafe shares the string's memory with a callee that only reads it.
func byteconvUnsafe(in *Input) uint64 {
	return in.turn ^ sumBytes(unsafe.Slice(unsafe.StringData(in.token), len(in.token)))
}

// byteconvKept is the case that still allocates: the callee keeps the slice.
func byteconvKept(in *Input) uint64 { return in.turn ^ keepBytes([]byte(in.token)) }

//go:noinline
func sumBytes(b []byte) (sum uint64) {
	for _, c := range b {
		sum = sum*31 + uint64(c)
	}
	return sum
}

//go:noinline
func sumString(s string) (sum uint64) {
	for i := range len(s) {
		sum = sum*31 + uint64(s[i])
	}
	return sum
}

//go:noinline
func keepBytes(b []byte) uint64 {
	sinkBytes = b
	return sumBytes(b)
}

// Exercise 3: string([]byte) for an existing slice.

func stringconvBefore(in *Input) uint64 { return in.turn ^ sumString(string(in.line)) }
func stringconvAfter(in *Input) uint64  { return in.turn ^ sumBytes(in.line) }

// Exercise 4: += in a loop.

func concatBefore(in *Input) uint64 {
	var s string
	for i, f := range in.fields {
		if i > 0 {
			s += ","
		}
		s += f
	}
	sinkString = s
	return in.turn ^ uint64(len(s))
}

func concatAfter(in *Input) uint64 {
	var b strings.Builder
	total := 0
	for _, f := range in.fields {
		total += len(f) + 1
	}
	b.Grow(total)
	return in.turn ^ build50(&b, in.fields)
}

func concatNoGrow(in *Input) uint64 {
	var b strings.Builder
	return in.turn ^ build50(&b, in.fields)
}

func build50(b *strings.Builder, fields []string) uint64 {
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(f)
	}
	sinkString = b.String()
	return uint64(len(sinkString))
}

// Exercise 5: append without a capacity.

func double(x int) int { return 2 * x }

func preallocBefore(in *Input) uint64 {
	sinkInts = mapGrowing(in.ints, double)
	return in.turn ^ uint64(sinkInts[999])
}

func preallocAfter(in *Input) uint64 {
	sinkInts = mapSized(in.ints, double)
	return in.turn ^ uint64(sinkInts[999])
}

func preallocIndex(in *Input) uint64 {
	sinkInts = mapIndexed(in.ints, double)
	return in.turn ^ uint64(sinkInts[999])
}

//go:noinline
func mapGrowing(in []int, f func(int) int) []int {
	var out []int
	for _, x := range in {
		out = append(out, f(x))
	}
	return out
}

//go:noinline
func mapSized(in []int, f func(int) int) []int {
	out := make([]int, 0, len(in))
	for _, x := range in {
		out = append(out, f(x))
	}
	return out
}

//go:noinline
func mapIndexed(in []int, f func(int) int) []int {
	out := make([]int, len(in))
	for i, x := range in {
		out[i] = f(x)
	}
	return out
}

// Exercise 6: a bytes.Buffer for each call.

type event struct {
	ID   int64
	Name string
	Tags []string
}

func (in *Input) event() event {
	return event{int64(in.turn), in.msg, in.tags}
}

func bufferBefore(in *Input) uint64 {
	e := in.event()
	sinkBytes = e.marshal()
	return sumBytes(sinkBytes)
}

//go:noinline
func (e *event) marshal() []byte {
	var buf bytes.Buffer
	binary.Write(&buf, binary.LittleEndian, e.ID)
	buf.WriteString(e.Name)
	for _, t := range e.Tags {
		buf.WriteString(t)
	}
	return buf.Bytes()
}

func bufferAfter(in *Input) uint64 {
	e := in.event()
	in.buf = e.appendTo(in.buf[:0])
	return sumBytes(in.buf)
}

//go:noinline
func (e *event) appendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(e.ID))
	dst = append(dst, e.Name...)
	for _, t := range e.Tags {
		dst = append(dst, t...)
	}
	return dst
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 256); return &b }}

func bufferPool(in *Input) uint64 {
	e := in.event()
	bp := buffers.Get().(*[]byte)
	buf := e.appendTo((*bp)[:0])
	sinkBytes = bytes.Clone(buf)
	*bp = buf
	buffers.Put(bp)
	return sumBytes(sinkBytes)
}

// Exercise 11: json.Marshal for each message, ten messages per operation.

type message struct {
	ID   uint64
	Name string
	Tags []string
}

func jsonBefore(in *Input) uint64 {
	for i := range uint64(10) {
		b, err := json.Marshal(message{in.turn + i, in.msg, in.tags})
		if err != nil {
			return 0
		}
		in.out.Write(b)
		in.out.Write([]byte{'\n'})
	}
	return in.out.take()
}

func jsonAfter(in *Input) uint64 {
	enc := json.NewEncoder(&in.out)
	for i := range uint64(10) {
		if err := enc.Encode(message{in.turn + i, in.msg, in.tags}); err != nil {
			return 0
		}
	}
	return in.out.take()
}

// Exercise 12: regexp.MustCompile in a function.

const slugPattern = `^[a-z0-9]+(?:-[a-z0-9]+)*$`

var (
	slugExpression = regexp.MustCompile(slugPattern)
	slugOnce       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(slugPattern) })
)

func regexpBefore(in *Input) uint64 {
	return matches(in, regexp.MustCompile(slugPattern))
}
func regexpAfter(in *Input) uint64 { return matches(in, slugExpression) }
func regexpLazy(in *Input) uint64  { return matches(in, slugOnce()) }

func matches(in *Input, re *regexp.Regexp) uint64 {
	s := in.slugs[in.turn%uint64(len(in.slugs))]
	if !re.MatchString(s) {
		return 0
	}
	return in.turn ^ sumString(s)
}

// Exercise 16: a result slice for each call.

func resultBefore(in *Input) uint64 {
	var sum uint64
	for _, f := range tokenize(in.words) {
		sum = sum*31 + sumString(f)
	}
	return in.turn ^ sum
}

//go:noinline
func tokenize(s string) []string {
	var out []string
	//lint:ignore S1011 the exercise is about this loop
	for _, f := range strings.Fields(s) {
		out = append(out, f)
	}
	return out
}

func resultAfter(in *Input) uint64 {
	in.tokens = appendTokens(in.tokens[:0], in.words)
	var sum uint64
	for _, f := range in.tokens {
		sum = sum*31 + sumString(f)
	}
	return in.turn ^ sum
}

//go:noinline
func appendTokens(dst []string, s string) []string { return append(dst, strings.Fields(s)...) }

func resultIterator(in *Input) uint64 {
	var sum uint64
	for f := range strings.FieldsSeq(in.words) {
		sum = sum*31 + sumString(f)
	}
	return in.turn ^ sum
}
