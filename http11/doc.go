// Package http11 is an HTTP/1.1 server whose request memory is a run-time choice.
//
// A [Server] calls its [Handler] with a [Context]: the request, whose parts are
// views of the memory they were read into, and the response. [Memory] selects
// where that memory comes from and when it is returned: Pooled, Slab or Arena.
// The mode changes neither the API nor what is sent.
//
// # Requests
//
// A [View] is valid until the handler returns; using it later panics. String,
// Clone and AppendTo copy out of it. [Request.Retain] keeps a whole request,
// [Context.UnsafeAlloc] allocates memory that lasts as long as the request.
// Neither may hold Go pointers: the collector does not scan request memory.
// [Request.QueryValues], [Request.Cookie] and [Context.FormValues] find values
// as net/url and net/http do, without copying them.
//
// Parsing is strict: the server refuses anything that RFC 9112 and RFC 9110
// leave ambiguous and closes the connection. It reads a body when the handler
// asks for it, whole ([Context.Body]) or in parts ([Context.BodyReader]).
//
// # Responses
//
// The server collects a response and sends it with its length when the handler
// returns. [Context.Flush], or more than 64 KB, starts streaming. Middleware
// inspects and changes responses with [Context.Recall] and [Context.OnStream].
// A handler panic closes the connection, after a 500 if nothing was sent.
//
// # Concurrency and ownership
//
// Each connection has a goroutine; with the engine [Readiness] all connections
// share a few. Any goroutine may call the methods of Server. Any goroutine may
// use a Context and its views until the handler returns; later uses fail with
// [ErrEnded] or panic. Only [View.UnsafeBytes] and [Context.UnsafeAlloc] return
// unchecked memory. docs/http11.md is the guide.
//
// # What it does not do
//
// No HTTP/2, compression, routing, multipart forms or proxying. For those,
// [Adapt] and [Server.ServeHTTP] connect it to net/http in both directions.
package http11
