package whennot

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"sync"
)

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() { c.n++ }

type wide struct{ data [200]byte }

type chain struct {
	next *chain
	n    int
}

// Locks, methods that need the address, sizes and links: pointers are right.
func collect(names []string) (cs []*counter, ws []*wide, list *chain, byName map[string]*counter) {
	byName = map[string]*counter{}
	for i, name := range names {
		cs = append(cs, &counter{n: i})
		ws = append(ws, &wide{})
		list = &chain{next: list, n: i}
		byName[name] = &counter{}
	}
	return cs, ws, list, byName
}

func newCounter() *counter { return &counter{} }

func (c *chain) push(n int) *chain { return &chain{c, n} }

// The caller says where the value goes.
func read(b []byte) (n int, err error) {
	err = json.Unmarshal(b, &n)
	return n, err
}

func pointer[T any](v T) *T { return &v }

type holder struct{ c *counter }

// What is put there comes from elsewhere, too.
func (h *holder) set(c *counter) { h.c = c }

func newHolder() *holder { return &holder{c: &counter{}} }

type generic[T any] struct{ v T }

func wrap[T any](v T) *generic[T] { return &generic[T]{v} }

type point struct{ x, y int }

// Never absent: whoever asks for one wants its address.
func newPoint(x, y int) *point { return &point{x, y} }

type request struct{ Header *point }

// What another module declares has the form that it has.
func send(client *http.Client, deadline tls.Config) *http.Request {
	u := url.URL{Path: "/"}
	return &http.Request{URL: &u, TLS: &tls.ConnectionState{}}
}

type stream struct{ body io.Reader }

// An interface holds a pointer.
func newStream(b []byte) *stream { return &stream{body: bytes.NewReader(b)} }

// The pointer stays here.
func sum(n int) (total int) {
	p := &n
	total = *p
	return total
}

type cell struct{ n int }

type grid struct {
	at    *cell
	cells []*cell
	out   chan *counter
}

func (g *grid) bump() { g.at.n++ }

// Two hold it, and it is written through one of them.
func (g *grid) add(n int) {
	c := &cell{n}
	g.cells = append(g.cells, c)
	g.at = c
}

// A lock, and a method that writes.
func (g *grid) send() { g.out <- &counter{} }

type taker interface{ take(c *counter) }

func hand(t taker) { t.take(&counter{}) }

// The callee is known.
func (g *grid) look() int { return peek(&cell{1}) }

func peek(c *cell) int { return c.n }

// What is made is kept by others, too.
type source interface{ open() io.Reader }

type file struct{ r *bytes.Reader }

func (f *file) open() io.Reader { return f.r }

type input struct {
	from source
	r    io.Reader
}

func (in *input) next() { in.r = in.from.open() }

// Returned, and kept here as well.
func (g *grid) first(n int) *cell {
	c := &cell{n}
	if n == 0 {
		return c
	}
	g.at = c
	return c
}
