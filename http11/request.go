package http11

import (
	"iter"
	"sync/atomic"

	"github.com/isobar-go/isobar/internal/base/release"
)

// A Request is what a client sent: its head, and memory allocated for it. It
// refers to server memory that is reused once the handler has returned; its
// methods panic from then on. It may be copied. Several goroutines may read it
// at once.
type Request struct {
	r     *region
	epoch uint64
}

// check panics unless the request is live. Methods call it before their result
// is usable; a View made too late is refused on use.
func (q Request) check(op string) {
	if release.LoadAfter(&q.r.turn)>>turnShift != q.epoch {
		q.stale(op)
	}
}

//go:noinline // so that check is inlined
func (q Request) stale(op string) { panic(q.r.late(op)) }

// headPart returns a part of the head. If the request ends meanwhile, the View
// is refused on use.
func (q Request) headPart(op string, part *span) View {
	q.check(op)
	return q.r.part(q.epoch, baseHead, *part)
}

// Method returns the method; it is case-sensitive.
func (q Request) Method() View { return q.headPart("Method", &q.r.head.method) }

// Target returns the request target as sent.
func (q Request) Target() View { return q.headPart("Target", &q.r.head.target) }

// Path returns the path of the target, not decoded. It is "*" for a request to
// the server as a whole, and empty for CONNECT to a host and port and for OPTIONS
// with an absolute target without path.
func (q Request) Path() View { return q.headPart("Path", &q.r.head.path) }

// Query returns everything after the first question mark of the target, not
// decoded.
func (q Request) Query() View { return q.headPart("Query", &q.r.head.query) }

// Host returns the requested host and port: those of an absolute target,
// otherwise those of the Host field.
func (q Request) Host() View { return q.headPart("Host", &q.r.head.authority) }

// ProtoMinor is 1 for HTTP/1.1 and 0 for HTTP/1.0.
func (q Request) ProtoMinor() int {
	q.check("ProtoMinor")
	minor := int(q.r.head.minor)
	q.check("ProtoMinor")
	return minor
}

// ContentLength is the length of the body in bytes, or -1 if it is chunked.
func (q Request) ContentLength() int64 {
	q.check("ContentLength")
	n := q.r.head.length
	q.check("ContentLength")
	return n
}

// lookup returns the first header field of that name at index start or later.
func (q Request) lookup(op, name string, start int) (value span, at int, ok bool) {
	q.check(op)
	fields, seen, buf := q.r.head.fields, q.r.head.seen, q.r.base[baseHead]
	q.check(op) // the slices are consistent
	at, ok = lookup(fields, seen, buf, name, start)
	if ok {
		value = fields[at].value
	}
	return value, at, ok
}

// Header returns the value of the first header field of that name, or an empty
// View. Names are case-insensitive.
func (q Request) Header(name string) View {
	if value, _, ok := q.lookup("Header", name, 0); ok {
		return q.r.part(q.epoch, baseHead, value)
	}
	return View{}
}

// HeaderValues returns the values of all header fields of that name, in order.
func (q Request) HeaderValues(name string) iter.Seq[View] {
	return func(yield func(View) bool) {
		for value, i, ok := q.lookup("HeaderValues", name, 0); ok; value, i, ok = q.lookup("HeaderValues", name, i+1) {
			if !yield(q.r.part(q.epoch, baseHead, value)) {
				return
			}
		}
	}
}

// Headers returns the names and values of all header fields, in order.
func (q Request) Headers() iter.Seq2[View, View] {
	return q.all("Headers", baseHead, &q.r.head.fields)
}

// Trailers returns the names and values of the trailer fields, in order. There
// are none until the body has been read to its end.
func (q Request) Trailers() iter.Seq2[View, View] {
	return q.all("Trailers", baseTrailer, &q.r.trailers)
}

func (q Request) all(op string, base uint64, fields *[]field) iter.Seq2[View, View] {
	return func(yield func(name, value View) bool) {
		for i := 0; ; i++ {
			q.check(op)
			list := *fields
			q.check(op) // list is consistent
			if i >= len(list) {
				return
			}
			if f := list[i]; !yield(q.r.part(q.epoch, base, f.name), q.r.part(q.epoch, base, f.value)) {
				return
			}
		}
	}
}

// UnsafeAlloc returns n bytes of request memory with unspecified contents,
// possibly another request's: write before you read. Nothing checks that they
// are used only during the request; afterwards they belong to another request.
// Builds with isobar_debug detect such use. So neither the slice nor a part of
// it may outlive the handler, or the Retained: not in a goroutine, a map, a
// cache or a string that shares its bytes. It must not hold Go pointers,
// because the collector does not scan request memory.
func (q Request) UnsafeAlloc(n int) []byte {
	if !q.r.enter(q.epoch, true) {
		panic(q.r.late("UnsafeAlloc"))
	}
	defer q.r.pass()
	return q.r.extra(n)
}

// Retain keeps the request, its views and its allocations valid after the
// handler returns, until Release. Call it while the handler runs, or while
// another Retained keeps the request.
func (q Request) Retain() *Retained {
	if !q.r.enter(q.epoch, true) {
		panic(q.r.late("Retain"))
	}
	q.r.refs.Add(1)
	q.r.pass()
	return &Retained{q: q}
}

// A Retained is a request that outlasts its handler. One goroutine at a time
// may use it.
type Retained struct {
	q        Request
	released atomic.Bool // set by Release; publishes nothing
}

// Request returns the request.
func (t *Retained) Request() Request {
	if t.released.Load() {
		panic("http11: Retained.Request: the request was released; call Release when nothing uses it any more")
	}
	return t.q
}

// Release releases the request. It must be called exactly once.
func (t *Retained) Release() {
	if t.released.Swap(true) {
		panic("http11: Retained.Release: the request was released before; call it once")
	}
	t.q.r.leave()
}
