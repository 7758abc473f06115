package http11_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
)

// isReset reports whether a connection ended by a reset.
func isReset(err error) bool {
	const windows = syscall.Errno(10054) // WSAECONNRESET
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, windows)
}

// errTimeout is the error of reads past a deadline.
var errTimeout = os.ErrDeadlineExceeded

// exchange creates a request and registers it. With closes, the server closes
// the connection after it.
func (c *client) exchange(l *line, route string, closes, cut bool, racy ...bool) *exchange {
	s := &sent{
		token: newToken(c.rng), route: route, method: http.MethodPost, local: l.local, cut: cut,
		racy: len(racy) > 0 && racy[0], prev: l.last,
	}
	l.last = s
	x := &exchange{sent: s}
	name := route[len("/n/") : len(route)-1]
	switch {
	case name == "file" || name == "files" || name == "hijack" || c.rng.IntN(5) == 0:
		s.method = http.MethodGet
		if name != "hijack" && c.rng.IntN(6) == 0 {
			s.method = http.MethodHead
		}
	default:
		s.body = c.bodyBytes()
		s.trailer = c.rng.IntN(4) == 0 && (strings.HasPrefix(route, "/n/") || name == "echo" || name == "stream")
	}
	x.answers = c.answers(s, name)
	if s.method == http.MethodHead {
		for i := range x.answers {
			x.answers[i].content = ""
		}
	}
	switch name {
	case "panic", "max", "timeout", "copy", "refused", "leave":
		x.mayClose = true
	case "error":
		// Before net/http closes, it does not read a body that its handler has left:
		// what it has sent may be lost.
		x.mayClose = c.place.mounted && closes && s.body > 0
	}
	c.write(x, name, closes)
	l.watch.own[s.token] = s
	c.w.register.enroll(s)
	return x
}

// bodyBytes is the length of a body; most are short. None exceeds the 256 KB
// that this package and net/http skip, so the connection survives a body that
// nobody has read.
func (c *client) bodyBytes() int {
	switch n := c.rng.IntN(100); {
	case n < 50:
		return 1 + c.rng.IntN(200)
	case n < 80:
		return 1 + c.rng.IntN(5000)
	case n < 98:
		return 1 + c.rng.IntN(40_000)
	}
	return 1 + c.rng.IntN(200_000)
}

// write builds the bytes of the request.
func (c *client) write(x *exchange, name string, closes bool) {
	s := x.sent
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s%s?%s HTTP/1.1\r\nHost: %[3]stest\r\nX-Token: %[3]s\r\nCookie: k=%[3]s\r\n"+
		"Content-Type: application/x-www-form-urlencoded\r\n", s.method, s.route, s.token, s.query())
	for range c.rng.IntN(4) {
		fmt.Fprintf(&head, "X-More: %s\r\n", repeated(s.token, c.rng.IntN(400)))
	}
	switch {
	case closes:
		head.WriteString("Connection: close\r\n")
	case name == "hijack":
		head.WriteString("Connection: Upgrade\r\nUpgrade: echo\r\n")
	}
	body := repeated(s.token, s.body)
	switch {
	case s.body == 0:
		head.WriteString("\r\n")
	case s.trailer || c.rng.IntN(3) == 0:
		if s.trailer {
			head.WriteString("Trailer: X-Trail\r\n")
		}
		head.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		var chunks strings.Builder
		for rest := body; rest != ""; {
			n := 1 + c.rng.IntN(len(rest))
			fmt.Fprintf(&chunks, "%x\r\n%s\r\n", n, rest[:n])
			rest = rest[n:]
		}
		chunks.WriteString("0\r\n")
		if s.trailer {
			fmt.Fprintf(&chunks, "X-Trail: %s\r\n", s.token)
		}
		body = chunks.String() + "\r\n"
	default:
		fmt.Fprintf(&head, "Content-Length: %d\r\n\r\n", len(body))
	}
	s.head = head.String()
	x.raw = append([]byte(s.head), body...)
}

// answers are the correct responses.
func (c *client) answers(s *sent, name string) []reply {
	late := []reply{{http.StatusServiceUnavailable, timedOutText}, {http.StatusOK, s.token}}
	if !c.w.spec.Adapted {
		late = append(late, reply{http.StatusOK, ""}) // the handler ends with its time
	}
	switch name {
	case "long":
		return []reply{{http.StatusOK, s.content() + repeated(s.token, longTokens*tokenBytes)}}
	case "file", "files":
		return []reply{{http.StatusOK, fileContent}}
	case "error":
		return []reply{{http.StatusTeapot, s.token + "\n"}}
	case "panic":
		all := []reply{{http.StatusInternalServerError, "the handler failed\n"}}
		if s.racy && s.method == http.MethodHead {
			all = append(all, reply{http.StatusOK, ""}) // a racing writer flushed the head before the panic
		}
		return all
	case "leave":
		return []reply{{http.StatusOK, s.token}}
	case "timeout", "copy":
		return late
	case "refused":
		return []reply{{http.StatusUnauthorized, s.token}, {http.StatusBadGateway, ""}}
	case "max":
		if s.body > limitedBytes {
			return []reply{{http.StatusRequestEntityTooLarge, s.token + "\n"}}
		}
	}
	return []reply{{http.StatusOK, s.content()}}
}
