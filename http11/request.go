package http11

import (
	"iter"
	"sync/atomic"
)

// A Request is what a client sent: its head, and what was allocated for it. It
// belongs to the server, which uses its memory again when the handler has
// returned.
type Request struct{ r *region }

// Method returns the method, which is case-sensitive.
func (q Request) Method() View { return q.r.view(baseHead, q.r.head.method) }

// Target returns the request target as it was sent.
func (q Request) Target() View { return q.r.view(baseHead, q.r.head.target) }

// Path returns the path of the target, not decoded. It is "*" for a request
// about the server as a whole, and empty for CONNECT and for an OPTIONS request
// whose absolute target has no path.
func (q Request) Path() View { return q.r.view(baseHead, q.r.head.path) }

// Query returns what follows the first question mark of the target, not decoded.
func (q Request) Query() View { return q.r.view(baseHead, q.r.head.query) }

// Host returns the host and port that the request is for: those of an absolute
// target, else those of the Host field.
func (q Request) Host() View { return q.r.view(baseHead, q.r.head.authority) }

// ProtoMinor is 1 for HTTP/1.1 and 0 for HTTP/1.0.
func (q Request) ProtoMinor() int { return int(q.r.head.minor) }

// ContentLength is the length of the body, or -1 if it is chunked.
func (q Request) ContentLength() int64 { return q.r.head.length }

// Header returns the value of the first header field of that name, in any case;
// an empty View if there is none.
func (q Request) Header(name string) View {
	h := &q.r.head
	if i, ok := lookup(h.fields, h.seen, q.r.base[baseHead], name, 0); ok {
		return q.r.view(baseHead, h.fields[i].value)
	}
	return View{}
}

// HeaderValues returns the values of all header fields of that name, in order.
func (q Request) HeaderValues(name string) iter.Seq[View] {
	return func(yield func(View) bool) {
		h := &q.r.head
		for i, ok := lookup(h.fields, h.seen, q.r.base[baseHead], name, 0); ok; i, ok = lookup(h.fields, h.seen, q.r.base[baseHead], name, i+1) {
			if !yield(q.r.view(baseHead, h.fields[i].value)) {
				return
			}
		}
	}
}

// Headers returns names and values of all header fields, in order.
func (q Request) Headers() iter.Seq2[View, View] { return q.r.all(baseHead, &q.r.head.fields) }

// Trailers returns names and values of the trailer fields, in order. There are
// none before the body was read to its end.
func (q Request) Trailers() iter.Seq2[View, View] { return q.r.all(baseTrailer, &q.r.trailers) }

func (r *region) all(base uint32, fields *[]field) iter.Seq2[View, View] {
	return func(yield func(name, value View) bool) {
		for i := range *fields {
			f := &(*fields)[i]
			if !yield(r.view(base, f.name), r.view(base, f.value)) {
				return
			}
		}
	}
}

// Alloc returns n bytes of unspecified contents that last as long as the
// request.
func (q Request) Alloc(n int) []byte { return q.r.alloc(n) }

// Retain keeps the request, its views and what was allocated for it beyond the
// return of the handler, until Release. It is called while the handler runs.
func (q Request) Retain() *Retained {
	q.r.refs.Add(1)
	return &Retained{r: q.r}
}

// A Retained is a request that outlasts its handler. One goroutine at a time
// may use it.
type Retained struct {
	r        *region
	released atomic.Bool // set by Release; publishes nothing
}

// Request returns the request.
func (t *Retained) Request() Request {
	if t.released.Load() {
		panic("http11: Retained.Request: the request was released; call Release when nothing uses it any more")
	}
	return Request{t.r}
}

// Release gives the request up. It must be called once.
func (t *Retained) Release() {
	if t.released.Swap(true) {
		panic("http11: Retained.Release: the request was released before; call it once")
	}
	t.r.drop()
}
