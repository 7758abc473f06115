package http11

import (
	"iter"
	"sync/atomic"
)

// A Request is what a client sent: its head, and what was allocated for it. It
// refers to memory of the server, which is used again when the handler has
// returned; its methods panic from then on. It may be copied. Several
// goroutines may read it at once.
type Request struct {
	r     *region
	epoch uint64
}

// check panics unless the request goes on. It is called before what a method
// returns is of use to anybody: a View made too late is refused when it is used.
func (q Request) check(op string) {
	if loadAfter(&q.r.turn)>>turnShift != q.epoch {
		q.stale(op)
	}
}

func (q Request) stale(op string) { panic(q.r.late(op)) }

// headPart returns a part of the head. Where the request ends meanwhile, the View
// is refused when it is used.
func (q Request) headPart(op string, part *span) View {
	q.check(op)
	return q.r.part(q.epoch, baseHead, *part)
}

// Method returns the method, which is case-sensitive.
func (q Request) Method() View { return q.headPart("Method", &q.r.head.method) }

// Target returns the request target as it was sent.
func (q Request) Target() View { return q.headPart("Target", &q.r.head.target) }

// Path returns the path of the target, not decoded. It is "*" for a request
// about the server as a whole, and empty for CONNECT and for an OPTIONS request
// whose absolute target has no path.
func (q Request) Path() View { return q.headPart("Path", &q.r.head.path) }

// Query returns what follows the first question mark of the target, not decoded.
func (q Request) Query() View { return q.headPart("Query", &q.r.head.query) }

// Host returns the host and port that the request is for: those of an absolute
// target, else those of the Host field.
func (q Request) Host() View { return q.headPart("Host", &q.r.head.authority) }

// ProtoMinor is 1 for HTTP/1.1 and 0 for HTTP/1.0.
func (q Request) ProtoMinor() int {
	q.check("ProtoMinor")
	minor := int(q.r.head.minor)
	q.check("ProtoMinor")
	return minor
}

// ContentLength is the length of the body, or -1 if it is chunked.
func (q Request) ContentLength() int64 {
	q.check("ContentLength")
	n := q.r.head.length
	q.check("ContentLength")
	return n
}

// lookup returns the first header field of that name from the one with number
// start on.
func (q Request) lookup(op, name string, start int) (value span, at int, ok bool) {
	q.check(op)
	fields, seen, buf := q.r.head.fields, q.r.head.seen, q.r.base[baseHead]
	q.check(op) // the slices are whole
	at, ok = lookup(fields, seen, buf, name, start)
	if ok {
		value = fields[at].value
	}
	return value, at, ok
}

// Header returns the value of the first header field of that name, in any case;
// an empty View if there is none.
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

// Headers returns names and values of all header fields, in order.
func (q Request) Headers() iter.Seq2[View, View] {
	return q.all("Headers", baseHead, &q.r.head.fields)
}

// Trailers returns names and values of the trailer fields, in order. There are
// none before the body was read to its end.
func (q Request) Trailers() iter.Seq2[View, View] {
	return q.all("Trailers", baseTrailer, &q.r.trailers)
}

func (q Request) all(op string, base uint64, fields *[]field) iter.Seq2[View, View] {
	return func(yield func(name, value View) bool) {
		for i := 0; ; i++ {
			q.check(op)
			list := *fields
			q.check(op) // list is whole
			if i >= len(list) {
				return
			}
			if f := list[i]; !yield(q.r.part(q.epoch, base, f.name), q.r.part(q.epoch, base, f.value)) {
				return
			}
		}
	}
}

// UnsafeAlloc returns n bytes of request memory. Their contents are unspecified,
// so write before you read: they may be another request's. Nothing checks that
// they are used only while the request lasts; afterwards they are another
// request's, as builds with isobar_debug notice. So neither the slice nor a part
// of it may outlive the handler, or the Retained: not in a goroutine, a map, a
// cache or a string made of it without copying. Go pointers must not be stored
// in it, because the collector does not look into request memory.
func (q Request) UnsafeAlloc(n int) []byte {
	if !q.r.enter(q.epoch, true) {
		panic(q.r.late("UnsafeAlloc"))
	}
	defer q.r.pass()
	return q.r.extra(n)
}

// Retain keeps the request, its views and what was allocated for it beyond the
// return of the handler, until Release. It is called while the handler runs, or
// while another Retained keeps the request.
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

// Release gives the request up. It must be called once.
func (t *Retained) Release() {
	if t.released.Swap(true) {
		panic("http11: Retained.Release: the request was released before; call it once")
	}
	t.q.r.leave()
}
