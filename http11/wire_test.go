//go:build linux

package http11

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const farewell = "GET /farewell HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

// deliver sends the parts one by one over a Unix socket, each when the server
// has read the previous one, and returns everything received until the server
// closes.
func deliver(t *testing.T, addr string, parts ...string) string {
	t.Helper()
	nc, err := net.Dial("unix", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(20 * time.Second))
	raw, err := nc.(*net.UnixConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range parts {
		if _, err := io.WriteString(nc, part); err != nil {
			break // refused already
		}
		for i < len(parts)-1 {
			unread := 0
			raw.Control(func(fd uintptr) { unread, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
			if unread == 0 {
				break
			}
			time.Sleep(10 * time.Microsecond) // the server is in this process
		}
	}
	answer, err := io.ReadAll(nc)
	// A part that arrives when the server is about to close, after a response that
	// says so, resets the connection (RFC 9112, section 9.6).
	late := len(parts) > 1 && bytes.Contains(answer, []byte("Connection: close\r\n")) && errors.Is(err, unix.ECONNRESET)
	if err != nil && !late {
		t.Errorf("%q: %v", parts, err)
	}
	return string(answer)
}

// statuses returns the final statuses in data. The responses have no content,
// or the content of a refusal.
func statuses(t *testing.T, data string) (all []int) {
	r := bufio.NewReader(strings.NewReader(data))
	for {
		if _, err := r.Peek(1); err == io.EOF {
			return all
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Errorf("response %d of %q: %v", len(all), data, err)
			return all
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Errorf("response %d of %q: %v", len(all), data, err)
		}
		if resp.StatusCode != 100 {
			all = append(all, resp.StatusCode)
		}
	}
}

// TestConformance sends the table over sockets, split at every offset, in every
// memory mode. Every split gives the same response bytes in every mode. In short,
// the modes share every seventh offset out among themselves.
func TestConformance(t *testing.T) {
	stride := 1
	if testing.Short() || raceOrDebug || strconv.IntSize == 32 { // system calls of 32 bits may be emulated, and take 25 times as long
		stride = 7 * len(modes())
	}
	turn := 0
	want := map[string]string{} // answers by case, of the first mode
	each(t, func(t *testing.T, m Memory) {
		begin := 1 + 7*turn%stride
		turn++
		s := &Server{Memory: m, Handler: HandlerFunc(func(c *Context) { c.Body() })} // the server answers errors
		s.MaxTargetBytes, s.MaxHeaderBytes, s.MaxHeaders = conformanceLimits.targetBytes, conformanceLimits.headBytes, conformanceLimits.fields
		s.MaxBodyBytes = conformanceLimits.bodyBytes
		addr := filepath.Join(t.TempDir(), "socket")
		l, err := net.Listen("unix", addr)
		if err != nil {
			t.Fatal(err)
		}
		serveOn(t, s, l)
		var wg sync.WaitGroup
		slots := make(chan struct{}, 8)
		for _, c := range conformance {
			input := c.input
			expect := []int{}
			for range c.before {
				expect = append(expect, 200)
			}
			expect = append(expect, c.status)
			if !c.closes {
				input += farewell
				expect = append(expect, 200)
			}
			whole := dateField.ReplaceAllString(deliver(t, addr, input), "Date: then")
			if got := statuses(t, whole); !reflect.DeepEqual(got, expect) {
				t.Errorf("%s (RFC %s): answered with %v, want %v: %q", c.name, c.section, got, expect, whole)
				continue
			}
			if first, ok := want[c.name]; !ok {
				want[c.name] = whole
			} else if whole != first {
				t.Errorf("%s: answered with %q, in the first mode with %q", c.name, whole, first)
			}
			step := stride * max(1, len(c.input)/300)
			for at := begin; at <= len(c.input) && at < len(input); at += step {
				slots <- struct{}{}
				wg.Go(func() {
					defer func() { <-slots }()
					split := dateField.ReplaceAllString(deliver(t, addr, input[:at], input[at:]), "Date: then")
					if split != whole {
						t.Errorf("%s, split at %d: answered with %q, in one piece with %q", c.name, at, split, whole)
					}
				})
			}
		}
		wg.Wait()
		if st := s.Stats(); st.Refused == 0 || st.Panics != 0 {
			t.Errorf("statistics %+v: want refusals and no panics", st)
		}
	})
}
