package http11_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Each request has its own token and consists of it as far as possible, so any
// byte of a request shows whose it is.

const (
	tokenBytes = 16
	lateMark   = "!late!" // what a late writer writes before the token of its request
)

func newToken(rng *rand.Rand) string { return fmt.Sprintf("T%014x.", rng.Uint64()>>8) }

func isToken(b []byte) bool {
	if len(b) < tokenBytes || b[0] != 'T' || b[tokenBytes-1] != '.' {
		return false
	}
	for _, c := range b[1 : tokenBytes-1] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// repeated returns n bytes of tokens in a row.
func repeated(token string, n int) string {
	return strings.Repeat(token, n/tokenBytes+1)[:n]
}

// repeats reports whether data is a part of the token in endless repetition.
func repeats(data []byte, token string) bool {
	return strings.Contains(repeated(token, len(data)+tokenBytes), string(data))
}

// A sent is a request as its client knows it. Its fields are set before it is
// registered, and constant since.
type sent struct {
	token, route, method string
	local                string // the client's address
	head                 string // as it was sent
	body                 int    // bytes
	trailer              bool
	racy                 bool  // goroutines of its handler may still write to its response
	cut                  bool  // its client does not wait for the response
	prev                 *sent // on the same connection

	// kept is what its handler received, from the handler's end until it moves to
	// the hoard.
	kept atomic.Pointer[kept]
	// over publishes that its handler has returned and that the server knows.
	over atomic.Bool
}

// part says whose routes it is for.
func (s *sent) part() string {
	if strings.HasPrefix(s.route, "/a/") {
		return "adapted"
	}
	return "native"
}

// owns reports whether data may be a part of the request.
func (s *sent) owns(data []byte) bool {
	return repeats(data, s.token) || strings.Contains(s.head, string(data))
}

// forget releases what its handler kept.
func (s *sent) forget() {
	if k := s.kept.Swap(nil); k != nil {
		k.release()
	}
}

// query is the request's query: the token twice, plain and with its first byte
// encoded.
func (s *sent) query() string { return fmt.Sprintf("q=%s&c=%%54%s", s.token, s.token[1:]) }

// content is what handlers echo: every part of the request.
func (s *sent) content() string {
	trailer := ""
	if s.trailer {
		trailer = s.token
	}
	return echoed(s.route+s.token, s.token, s.query(), repeated(s.token, s.body), trailer)
}

func echoed(path, field, query, body, trailer string) string {
	return strings.Join([]string{path, field, query, body, trailer}, "|")
}

// A register holds the recently sent requests.
type register struct {
	mu  sync.Mutex
	of  map[string]*sent // guarded by mu
	old []string         // tokens in order; guarded by mu
}

// registered far exceeds the requests sent during one response.
const registered = 1 << 16

func (g *register) enroll(s *sent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of[s.token] = s
	if g.old = append(g.old, s.token); len(g.old) > registered {
		g.of[g.old[0]].forget()
		delete(g.of, g.old[0])
		g.old = g.old[1:]
	}
}

// sweep releases requests that no client has published.
func (g *register) sweep() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.of {
		s.forget()
	}
}

func (g *register) find(token string) *sent {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.of[token]
}

// A watch reads a connection and looks for foreign tokens.
type watch struct {
	io.Reader
	own   map[string]*sent // what may arrive
	found func(kind, text string)
	tail  []byte
}

func (k *watch) Read(p []byte) (int, error) {
	n, err := k.Reader.Read(p)
	k.look(p[:n])
	return n, err
}

func (k *watch) look(p []byte) {
	text := append(k.tail, p...)
	seen := 0 // the end of the last token
	for i := 0; i+tokenBytes <= len(text); i++ {
		at := bytes.IndexByte(text[i:], 'T')
		if at < 0 {
			break
		}
		if i += at; !isToken(text[i:]) {
			continue
		}
		token := string(text[i : i+tokenBytes])
		s := k.own[token]
		late := bytes.HasSuffix(text[:i], []byte(lateMark))
		switch {
		case late && (s == nil || !s.racy):
			k.found("marker", fmt.Sprintf("a client received what was written late for %s; its own is %v", token, k.tokens()))
		case s == nil:
			k.found("foreign", fmt.Sprintf("a client received the token %s; its own is %v", token, k.tokens()))
		}
		seen = i + tokenBytes
		for bytes.HasPrefix(text[seen:], []byte(token)) { // most are repetitions
			seen += tokenBytes
		}
		i = seen - 1
	}
	const most = tokenBytes + len(lateMark) - 1
	k.tail = append([]byte(nil), text[max(seen, len(text)-most):]...)
}

func (k *watch) tokens() (own []string) {
	for token := range k.own {
		own = append(own, token)
	}
	return own
}

// The checks of the workload detect what they are for.
func TestTenantTokens(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	mine, racy, other := newToken(rng), newToken(rng), newToken(rng)
	s := &sent{token: mine, head: "GET /n/echo/" + mine + " HTTP/1.1\r\nHost: h\r\n\r\n"}
	for _, tc := range []struct {
		data string
		want bool
	}{
		{"", true}, {"GET", true}, {mine[3:] + mine + mine[:2], true}, {mine[:8] + "\x00" + mine[9:], false},
		{other, false}, {other[4:9], false}, {mine + other[:3], false}, {"/n/echo/" + mine, true},
	} {
		if got := s.owns([]byte(tc.data)); got != tc.want {
			t.Errorf("owns(%q) = %v", tc.data, got)
		}
	}
	for _, tc := range []struct{ text, want string }{
		{"x" + mine + mine + "T" + mine[:9], ""},
		{mine + other, "foreign"},
		{mine + lateMark + other, "marker"},
		{mine + lateMark + mine, "marker"},
		{mine + lateMark + racy, ""},
	} {
		for step := 1; step < len(tc.text); step += 7 { // however it arrives
			got := ""
			k := &watch{own: map[string]*sent{mine: s, racy: {racy: true}}, found: func(kind, _ string) { got = kind }}
			for rest := []byte(tc.text); len(rest) > 0; rest = rest[min(step, len(rest)):] {
				k.look(rest[:min(step, len(rest))])
			}
			if got != tc.want {
				t.Errorf("%q in steps of %d: %q, want %q", tc.text, step, got, tc.want)
			}
		}
	}
}
