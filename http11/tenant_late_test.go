package http11_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/isobar-go/isobar/http11"
)

func look(name string, f func() []byte) use {
	return use{name: name, do: func(*rand.Rand) ([]byte, error) { return f(), nil }}
}

func act(name string, f func() error) use {
	return use{name: name, do: func(*rand.Rand) ([]byte, error) { return nil, f() }}
}

func do(name string, f func()) use {
	return use{name: name, do: func(*rand.Rand) ([]byte, error) { f(); return nil, nil }}
}

// set calls a method that sets something, whether it reports failure by an
// error or a panic.
func set(name string, f any, args ...string) use {
	return act(name, func() error {
		switch f := f.(type) {
		case func(string, string):
			f(args[0], args[1])
		case func(string, string) error:
			return f(args[0], args[1])
		case func(int):
			f(299)
		case func(int) error:
			return f(299)
		case func(int64):
			f(3)
		case func(int64) error:
			return f(3)
		default:
			panic(fmt.Sprintf("%s is a %T", name, f))
		}
		return nil
	})
}

// reading reads some bytes.
func reading(name string, r func() io.Reader) use {
	return use{name: name, do: func(rng *rand.Rand) ([]byte, error) {
		p := make([]byte, 1+rng.IntN(700))
		n, err := r().Read(p)
		return p[:n], err
	}}
}

// each fails with the first name or value that does not belong to the request,
// otherwise returns one of them.
func (k *kept) each(fields func(func(name, value http11.View) bool)) (data []byte, err error) {
	for name, value := range fields {
		for _, v := range []http11.View{name, value} {
			if data = v.Clone(); !k.s.owns(data) {
				return data, nil
			}
		}
	}
	return data, nil
}

// requestUses are the ways to use a Request and its Views.
func (w *world) requestUses(k *kept) []use {
	q := k.request
	uses := []use{
		look("Request.Method", func() []byte { return q.Method().Clone() }),
		look("Request.Path", func() []byte { return q.Path().Clone() }),
		look("Request.Host", func() []byte { return q.Host().Clone() }),
		look("Request.Header", func() []byte { return q.Header("X-Token").Clone() }),
		{name: "Request.Headers", do: func(*rand.Rand) ([]byte, error) { return k.each(q.Headers()) }},
		{name: "Request.Headers, begun before", do: func(*rand.Rand) ([]byte, error) { return k.each(k.fields) }},
		look("Request.Cookie", func() []byte { v, _ := q.Cookie("k"); return v.Clone() }),
		{name: "Request.Cookies", do: func(*rand.Rand) ([]byte, error) { return k.each(q.Cookies()) }},
		{name: "Request.QueryValues", do: func(*rand.Rand) ([]byte, error) { return k.each(q.QueryValues().All()) }},
		look("Values.Get", func() []byte { v, _ := k.values.Get("c"); return v.Clone() }),
		act("Values.Err", func() error { return k.values.Err() }),
		do("Request.ContentLength", func() { q.ContentLength() }),
		do("Request.Retain", func() { q.Retain().Release() }),
	}
	if k.s.trailer {
		trailers := func(*rand.Rand) ([]byte, error) { return k.each(q.Trailers()) }
		uses = append(uses, use{name: "Request.Trailers", do: trailers})
	}
	for _, v := range k.views {
		uses = append(uses,
			look("View.String", func() []byte { return []byte(v.String()) }),
			look("View.Clone", v.Clone),
			look("View.AppendTo", func() []byte { return v.AppendTo(nil) }),
			do("View.Len", func() { v.Len() }),
			do("View.Equal", func() { v.Equal(k.s.token) }))
	}
	return uses
}

// racyContext are the uses of a Context that do not take the connection.
func (w *world) racyContext(k *kept) []use {
	c := k.c
	return []use{
		look("Path", func() []byte { return c.Path().Clone() }),
		look("Target", func() []byte { return c.Target().Clone() }),
		look("Query", func() []byte { return c.Query().Clone() }),
		look("Header", func() []byte { return c.Header("x-token").Clone() }),
		{name: "Headers", do: func(*rand.Rand) ([]byte, error) { return k.each(c.Headers()) }},
		{name: "HeaderValues", do: func(*rand.Rand) (data []byte, err error) {
			for v := range c.HeaderValues("X-Token") {
				data = v.Clone()
			}
			return data, nil
		}},
		{name: "Trailers", do: func(*rand.Rand) ([]byte, error) { return k.each(c.Trailers()) }},
		{name: "Body", do: func(*rand.Rand) ([]byte, error) {
			v, err := c.Body()
			return v.Clone(), err
		}},
		{name: "FormValues", do: func(*rand.Rand) ([]byte, error) {
			form, err := c.FormValues()
			if err != nil {
				return nil, err
			}
			return k.each(form.All())
		}},
		reading("BodyReader, kept", func() io.Reader { return k.reader }),
		reading("BodyReader", c.BodyReader),
		do("Status", func() { c.Status() }),
		look("RemoteAddr", func() []byte { return k.stranger(c.RemoteAddr()) }),
		do("Conn", func() { c.Conn() }),
		act("Write", func() error { _, err := c.Write([]byte(k.mark())); return err }),
		act("WriteString", func() error { _, err := c.WriteString(k.mark()); return err }),
		set("SetHeader", c.SetHeader, "X-Late", k.mark()),
		set("AddHeader", c.AddHeader, "X-Token", k.mark()),
		set("SetTrailer", c.SetTrailer, "X-Late", k.mark()),
		set("SetStatus", c.SetStatus),
		set("SetContentLength", c.SetContentLength),
		act("Flush", c.Flush),
		do("Reset", func() { c.Reset() }),
		act("Error", func() error { return c.Error(299, k.mark()) }),
		do("Retain", func() { c.Retain().Release() }),
	}
}

// stranger returns an address that is not the client's.
func (k *kept) stranger(addr net.Addr) []byte {
	if addr == nil || addr.String() == k.s.local {
		return nil
	}
	return []byte(addr.String())
}

// contextUses are the ways to use a Context late. While its handler may be
// about to return, taking the connection is legitimate.
func (w *world) contextUses(k *kept, over bool) []use {
	uses := w.racyContext(k)
	if !over {
		return uses
	}
	uses = append(uses,
		act("SendFile", func() error { return k.c.SendFile(w.file) }),
		use{name: "MayBlock", silent: true, do: func(*rand.Rand) ([]byte, error) { k.c.MayBlock(); return nil, nil }},
		use{name: "Hijack", do: func(*rand.Rand) ([]byte, error) {
			nc, buffered, err := k.c.Hijack()
			if err != nil {
				return nil, err
			}
			robbed(nc, k)
			return buffered, nil
		}})
	if k.conn != nil {
		uses = append(uses, use{name: "Conn, kept", silent: true, do: func(*rand.Rand) ([]byte, error) {
			return k.stranger(k.conn.RemoteAddr()), nil
		}})
	}
	return uses
}

// robbed tells the client that its connection was taken.
func robbed(nc net.Conn, k *kept) {
	nc.SetDeadline(time.Now().Add(time.Second))
	io.WriteString(nc, k.mark())
	nc.Close()
}

// adaptedUses are the ways to use what net/http's handlers received. While the
// handler may be about to return, they leave header maps alone, because no
// server can protect one.
func (w *world) adaptedUses(k *kept, over bool) []use {
	uses := append(w.racyReader(k), w.racyWriter(k)...)
	if !over {
		return uses
	}
	return append(uses,
		use{name: "Hijack", do: func(*rand.Rand) ([]byte, error) {
			nc, rw, err := http.NewResponseController(k.w).Hijack()
			if err != nil {
				return nil, err
			}
			buffered, _ := rw.Reader.Peek(rw.Reader.Buffered())
			data := bytes.Clone(buffered)
			robbed(nc, k)
			return data, nil
		}},
		use{name: "Request.Header", silent: true, do: func(*rand.Rand) ([]byte, error) {
			return []byte(k.r.Header.Get("X-Token") + k.r.URL.Path[len(k.s.route):]), nil
		}},
		use{name: "Header().Set", silent: true, do: func(*rand.Rand) ([]byte, error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.w.Header().Set("X-Late", k.mark())
			k.header.Set("X-Token", k.mark())
			k.header.Set(http.TrailerPrefix+"X-Late", k.mark())
			return nil, nil
		}})
}

// racyReader are the uses of a body.
func (w *world) racyReader(k *kept) []use {
	read := reading("Body.Read", func() io.Reader { return k.body })
	if k.body != http.NoBody {
		read.named = http.ErrBodyReadAfterClose
	}
	return []use{
		read,
		{name: "io.Copy from Body", do: func(*rand.Rand) ([]byte, error) {
			n, err := io.Copy(bodyOf{w, k.s}, io.LimitReader(k.body, 4<<10))
			if err == nil && n == 0 {
				err = io.EOF // the body has ended, as Copy does not say
			}
			return nil, err
		}},
		{name: "Body.Close", silent: true, do: func(rng *rand.Rand) ([]byte, error) {
			if rng.IntN(4) == 0 {
				return nil, k.body.Close()
			}
			return nil, nil
		}},
	}
}

// racyWriter are the uses of a writer that do not take the connection.
func (w *world) racyWriter(k *kept) []use {
	return []use{
		act("Write", func() error { _, err := k.w.Write([]byte(k.mark())); return err }),
		act("io.WriteString", func() error { _, err := io.WriteString(k.w, k.mark()); return err }),
		act("Fprintf", func() error { _, err := fmt.Fprintf(k.w, "%s", k.mark()); return err }),
		act("ResponseController.Flush", func() error { return http.NewResponseController(k.w).Flush() }),
		{name: "Flush", silent: true, do: func(*rand.Rand) ([]byte, error) {
			if f, ok := k.w.(http.Flusher); ok {
				f.Flush()
			}
			return nil, nil
		}},
		{name: "WriteHeader", silent: true, do: func(*rand.Rand) ([]byte, error) { k.w.WriteHeader(299); return nil, nil }},
	}
}

// racyUses run while the handler returns: one goroutine each.
func (w *world) racyUses(k *kept) []func(*rand.Rand) outcome {
	any := func(uses []use, run func(use, *rand.Rand) outcome) func(*rand.Rand) outcome {
		return func(rng *rand.Rand) outcome { return run(uses[rng.IntN(len(uses))], rng) }
	}
	if k.c == nil {
		return []func(*rand.Rand) outcome{any(w.racyReader(k), use.run), any(w.racyWriter(k), use.run)}
	}
	return []func(*rand.Rand) outcome{any(w.racyContext(k), use.runNative), any(w.requestUses(k), use.runNative)}
}
