// Package http11 is an HTTP/1.1 server whose request memory is a run-time choice.
//
// A [Server] calls its [Handler] with a [Context]: the request, whose parts are
// views of the memory that they were read into, and the response. [Memory] says
// where that memory comes from and when it goes back: Pooled, Slab or Arena.
// The mode changes neither the API nor what is sent.
//
// # Requests
//
// A [View] is valid until the handler returns; String, Clone and AppendTo copy
// out of it, and using it later panics. [Request.Retain] keeps a whole request,
// [Context.UnsafeAlloc] makes memory that lasts as long as the request. Neither
// holds Go pointers: the collector does not look into request memory.
// [Request.QueryValues], [Request.Cookie] and [Context.FormValues] find values as
// net/url and net/http do, without copying them.
//
// Parsing is strict: what RFC 9112 and RFC 9110 leave two readings of is
// refused, and the connection is closed. A body is read when the handler asks
// for it, as a whole ([Context.Body]) or in parts ([Context.BodyReader]).
//
// # Responses
//
// A response is collected and sent with its length when the handler returns;
// [Context.Flush], and more than 64 KB, have it streamed. What wraps handlers sees
// and changes it by [Context.Recall] and [Context.OnStream]. A handler that panics
// costs its connection, after a status 500 if nothing was sent.
//
// # Concurrency and ownership
//
// Each connection has a goroutine, or, with the engine [Readiness], all share a
// few. The methods of Server are for any goroutine, a Context and its views for any
// until the handler returns: every use after that is refused, by [ErrEnded] or a
// panic. Only [View.UnsafeBytes] and [Context.UnsafeAlloc] hand out memory that
// nothing checks. docs/http11.md is the guide.
//
// # What it does not do
//
// No HTTP/2, no compression, no routing, no multipart forms, no proxying. [Adapt]
// and [Server.ServeHTTP] join it with net/http in both directions, for all of that.
package http11
