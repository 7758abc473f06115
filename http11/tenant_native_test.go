package http11_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/isobar-go/isobar/http11"
)

var fileContent = strings.Repeat("the content of a file. ", 2000)

// longTokens is how many tokens a long response has besides the echo.
const longTokens = 5000

// handler is the handler of all servers: native routes begin with /n/, adapted
// ones with /a/.
func (w *world) handler() http11.Handler {
	adapted := http11.Adapt(w.adapted())
	return http11.HandlerFunc(func(c *http11.Context) {
		w.busy.Add(1)
		defer w.busy.Done()
		path := c.Path().String()
		route, s, rng := w.whose(path)
		if s == nil {
			w.found("handler", "server", fmt.Sprintf("a handler was called for %.100q, which no client has sent", path))
			c.Error(400, "nobody has sent this")
			return
		}
		if !strings.HasSuffix(route, "/hijack/") && rng.IntN(3) == 0 {
			c.OnStream(func(to io.Writer) io.WriteCloser { return &keeper{Writer: to, w: w, s: s} })
		}
		if strings.HasPrefix(route, "/a/") {
			adapted.ServeHTTP11(c)
			return
		}
		w.native(c, s, rng)
	})
}

// whose finds the request by its path.
func (w *world) whose(path string) (route string, s *sent, rng *rand.Rand) {
	at := max(0, len(path)-tokenBytes)
	s = w.register.find(path[at:])
	if s == nil || s.route != path[:at] {
		return "", nil, nil
	}
	n, _ := strconv.ParseUint(s.token[1:tokenBytes-1], 16, 64)
	return s.route, s, rand.New(rand.NewPCG(w.spec.Seed, n))
}

// nativeRoutes answer after the handler has kept what it received.
var nativeRoutes = map[string]func(*world, *http11.Context, *kept, *rand.Rand) error{
	"/n/echo/":   (*world).echo,
	"/n/read/":   (*world).echoByReader,
	"/n/stream/": (*world).stream,
	"/n/long/":   (*world).long,
	"/n/file/": func(w *world, c *http11.Context, k *kept, rng *rand.Rand) error {
		c.SetHeader("X-Token", c.Header("X-Token").String())
		return c.SendFile(w.file)
	},
	"/n/retain/": func(w *world, c *http11.Context, k *kept, rng *rand.Rand) error {
		k.retained = c.Retain()
		return w.echo(c, k, rng)
	},
	"/n/hand/": func(w *world, c *http11.Context, k *kept, rng *rand.Rand) error {
		done := make(chan error)
		go func() { done <- w.echo(c, k, rng) }()
		return <-done
	},
	"/n/error/": func(w *world, c *http11.Context, k *kept, rng *rand.Rand) error {
		c.WriteString("to be replaced")
		token := c.Header("X-Token").String()
		if !c.Reset() {
			return errors.New("it was sent already")
		}
		return c.Error(418, token)
	},
	"/n/panic/": func(w *world, c *http11.Context, k *kept, rng *rand.Rand) error {
		c.WriteString("never seen")
		panic(errDeliberate)
	},
	"/n/leave/": func(w *world, c *http11.Context, k *kept, rng *rand.Rand) error { // the body
		token := c.Header("X-Token").String()
		c.SetHeader("X-Token", token)
		_, err := c.WriteString(token)
		return err
	},
	"/n/hijack/": (*world).hijack,
}

// native is the handler of native routes.
func (w *world) native(c *http11.Context, s *sent, rng *rand.Rand) {
	k := &kept{s: s, c: c, request: c.Request, reader: c.BodyReader(), conn: c.Conn(), fields: c.Headers()}
	k.views = []http11.View{c.Path(), c.Header("X-Token"), c.Host(), c.Query()}
	k.values = c.QueryValues()
	cookie, _ := c.Cookie("k")
	w.own(s, "cookie", cookie.Clone())
	k.views = append(k.views, cookie)
	if rng.IntN(2) == 0 { // else it is first decoded late
		coded, _ := k.values.Get("c")
		w.own(s, "decoded query", coded.Clone())
		k.views = append(k.views, coded)
	}
	defer func() { // also when it panics
		s.kept.Store(k)
		if s.racy || s.cut || s.route == "/n/hijack/" {
			w.publish(s)
		}
	}()
	w.misuse(s, rng)
	if s.route == "/n/hand/" || rng.IntN(2) == 0 {
		c.MayBlock()
		time.Sleep(time.Duration(rng.IntN(1000)) * time.Microsecond)
		w.misuse(s, rng)
	}
	if err := nativeRoutes[s.route](w, c, k, rng); err != nil && !s.cut && !s.racy {
		w.found("handler", "server", fmt.Sprintf("%s%s: %v", s.route, s.token, err))
	}
	if !s.racy {
		w.misuse(s, rng)
	}
	w.atReturn(k, rng)
}

// own records what a handler received that does not belong to its request.
func (w *world) own(s *sent, what string, data []byte) {
	if !s.owns(data) {
		w.found("foreign", "handler", fmt.Sprintf("the %s of %s%s is %.80q", what, s.route, s.token, data))
	}
}

// echo answers with every part of the request, reading its body as a whole.
func (w *world) echo(c *http11.Context, k *kept, rng *rand.Rand) error {
	body, err := c.Body()
	if err != nil {
		return err
	}
	w.own(k.s, "body", body.Clone())
	if body.Len() > 0 {
		k.views = append(k.views, body)
	}
	w.misuse(k.s, rng)
	w.answer(c, body.String())
	return nil
}

func (w *world) answer(c *http11.Context, body string) {
	trailer := ""
	for _, value := range c.Trailers() {
		trailer += value.String()
	}
	token := c.Header("X-Token").String()
	c.SetHeader("X-Token", token)
	// An error shows at the client.
	c.WriteString(echoed(c.Path().String(), token, c.Query().String(), body, trailer))
}

// echoByReader is echo with a reader, in small parts.
func (w *world) echoByReader(c *http11.Context, k *kept, rng *rand.Rand) error {
	var body strings.Builder
	buf := make([]byte, 1+rng.IntN(3000))
	for {
		n, err := k.reader.Read(buf)
		w.own(k.s, "body", buf[:n])
		body.Write(buf[:n])
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if rng.IntN(8) == 0 {
			w.misuse(k.s, rng)
		}
	}
	w.answer(c, body.String())
	return nil
}

// stream is echo in chunks, each sent at once, with a trailer.
func (w *world) stream(c *http11.Context, k *kept, rng *rand.Rand) error {
	body, err := c.Body()
	if err != nil {
		return err
	}
	w.own(k.s, "body", body.Clone())
	token := c.Header("X-Token").String()
	c.SetHeader("X-Token", token)
	c.SetHeader("Trailer", "X-Trail")
	if err := c.Flush(); err != nil {
		return err
	}
	w.misuse(k.s, rng)
	w.answerInParts(c, c.Path().String(), body.String())
	c.SetTrailer("X-Trail", token)
	return nil
}

// answerInParts is answer after sending the head, in parts.
func (w *world) answerInParts(c *http11.Context, path, body string) {
	trailer := ""
	for _, value := range c.Trailers() {
		trailer += value.String()
	}
	content := echoed(path, c.Header("X-Token").String(), c.Query().String(), body, trailer)
	for _, part := range strings.SplitAfter(content, "|") {
		c.WriteString(part)
		c.Flush()
	}
}

// long is echo with much more content.
func (w *world) long(c *http11.Context, k *kept, rng *rand.Rand) error {
	if err := w.echo(c, k, rng); err != nil {
		return err
	}
	token := c.Header("X-Token").String()
	for range longTokens / 100 {
		c.WriteString(repeated(token, 100*tokenBytes))
	}
	return nil
}

const switching = "HTTP/1.1 101 Switching Protocols\r\nX-Token: %s\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"

// hijack takes the connection and echoes lines, now or after the handler has
// returned.
func (w *world) hijack(c *http11.Context, k *kept, rng *rand.Rand) error {
	token := c.Header("X-Token").String()
	nc, buffered, err := c.Hijack()
	if err != nil {
		return err
	}
	echo := func() {
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(patience))
		fmt.Fprintf(nc, switching, token)
		nc.Write(buffered)
		io.Copy(nc, nc) // until the client has sent all
	}
	if rng.IntN(2) == 0 {
		w.busy.Go(echo)
		return nil
	}
	echo()
	return nil
}
