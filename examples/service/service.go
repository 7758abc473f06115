package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/isobar-go/isobar/http11"
)

// A service answers the requests. It may be used by many goroutines.
type service struct {
	files  http11.Handler
	socket http11.Handler
	stats  func() http11.Stats

	mu    sync.Mutex
	notes map[int]note // guarded by mu
	last  int          // guarded by mu
}

type note struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

// newService returns the service with its middlewares.
func newService(root *os.Root, stats func() http11.Stats) http11.Handler {
	return compress(etag(&service{
		files:  http11.Files(root, "/files/"),
		socket: http11.Adapt(http.HandlerFunc(echo)),
		stats:  stats,
		notes:  map[int]note{},
	}))
}

// ServeHTTP11 routes by the path.
func (s *service) ServeHTTP11(c *http11.Context) {
	switch path := c.Path().String(); {
	case strings.HasPrefix(path, "/api/notes"):
		s.api(c, strings.TrimPrefix(path, "/api/notes"))
	case strings.HasPrefix(path, "/files/"):
		s.files.ServeHTTP11(c)
	case path == "/upload":
		upload(c)
	case strings.HasPrefix(path, "/echo"):
		c.SetHeader("Content-Type", "text/plain; charset=utf-8")
		c.Write(c.Target().UnsafeBytes()) // collected: it cannot fail here
	case path == "/stats":
		answer(c, 200, s.stats())
	case path == "/ws":
		s.socket.ServeHTTP11(c)
	default:
		c.Error(404, "not found")
	}
}

func (s *service) api(c *http11.Context, rest string) {
	id, err := strconv.Atoi(strings.TrimPrefix(rest, "/"))
	switch method := c.Method().String(); {
	case rest == "" && method == "POST":
		s.add(c)
	case rest == "" && method == "GET":
		answer(c, 200, s.all())
	case err != nil || rest[0] != '/':
		c.Error(404, "not found")
	case method == "GET" || method == "DELETE":
		s.one(c, id, method == "DELETE")
	default:
		c.Error(405, "the method is not allowed")
	}
}

func (s *service) add(c *http11.Context) {
	body, err := c.Body()
	if err != nil {
		return // the server answers
	}
	var n note
	if err := json.Unmarshal(body.UnsafeBytes(), &n); err != nil { // it keeps none of the bytes
		c.Error(400, err.Error())
		return
	}
	s.mu.Lock()
	s.last++
	n.ID = s.last
	s.notes[n.ID] = n
	s.mu.Unlock()
	c.SetHeader("Location", fmt.Sprintf("/api/notes/%d", n.ID))
	answer(c, 201, n)
}

func (s *service) all() []note {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.AppendSeq([]note{}, maps.Values(s.notes))
	slices.SortFunc(all, func(a, b note) int { return a.ID - b.ID })
	return all
}

func (s *service) one(c *http11.Context, id int, remove bool) {
	s.mu.Lock()
	n, ok := s.notes[id]
	if remove {
		delete(s.notes, id)
	}
	s.mu.Unlock()
	switch {
	case !ok:
		c.Error(404, "not found")
	case remove:
		c.SetStatus(204)
	default:
		answer(c, 200, n)
	}
}

func answer(c *http11.Context, status int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		c.Error(500, err.Error())
		return
	}
	c.SetStatus(status)
	c.SetHeader("Content-Type", "application/json")
	c.Write(data) // collected: it cannot fail here
}

// upload reads a body as it comes.
func upload(c *http11.Context) {
	hash := sha256.New()
	n, err := io.Copy(hash, c.BodyReader())
	if err != nil {
		return // the server answers
	}
	answer(c, 200, map[string]any{"bytes": n, "sha256": fmt.Sprintf("%x", hash.Sum(nil))})
}

// echo sends every message of a WebSocket back.
func echo(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	for {
		kind, message, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		if err := conn.Write(r.Context(), kind, message); err != nil {
			return
		}
	}
}
