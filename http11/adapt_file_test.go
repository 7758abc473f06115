package http11

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// A copyListener accepts connections that count what the kernel copies.
type copyListener struct {
	net.Listener
	copied *atomic.Int64 // publishes nothing
}

func (l copyListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return copyConn{nc.(*net.TCPConn), l.copied}, nil
}

type copyConn struct {
	*net.TCPConn
	copied *atomic.Int64
}

func (c copyConn) ReadFrom(r io.Reader) (int64, error) {
	n, err := c.TCPConn.ReadFrom(r)
	c.copied.Add(n)
	return n, err
}

// Files of net/http handlers arrive as with net/http, and the kernel copies those whose
// length is declared and that are not held back.
func TestAdaptFiles(t *testing.T) {
	const size = 300_000
	dir := t.TempDir()
	var content strings.Builder
	for i := 0; content.Len() < size; i++ {
		fmt.Fprintf(&content, "%d,", i)
	}
	for name, n := range map[string]int{"large.txt": size, "small.txt": 30_000} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content.String()[:n]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	copies := func(length int, from, to int64) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			f, err := os.Open(filepath.Join(dir, "large.txt"))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			f.Seek(from, io.SeekStart) // a failure shows in the content
			w.Header().Set("Content-Type", "text/plain")
			if length > 0 {
				w.Header().Set("Content-Length", fmt.Sprint(length))
			}
			var src io.Reader = f
			if to > 0 {
				src = io.LimitReader(f, to)
			}
			io.WriteString(w, "begin")
			n, err := io.Copy(w, src)
			fmt.Fprintf(w, "%d %v", n, err)
		}
	}
	files := http.FileServer(http.Dir(dir))
	ranges := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Range", "bytes=1000-200999")
		files.ServeHTTP(w, r)
	})
	for _, test := range []struct {
		name, path string
		h          http.Handler
		copied     int64 // by the kernel
	}{
		{"large", "/large.txt", files, size},
		{"small", "/small.txt", files, 0},
		{"range", "/large.txt", ranges, 200_000},
		{"declared", "/", copies(5+size+12, 0, 0), size},
		{"from an offset", "/", copies(5+size-1000+12, 1000, 0), size - 1000},
		{"limited", "/", copies(5+100_000+12, 0, 100_000), 100_000},
		{"a limit beyond the end", "/", copies(5+size+12, 0, size+1), size},
		{"declared too much", "/", copies(2*size, 0, 0), size},
		{"not declared", "/", copies(0, 0, 0), 0},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			t.Run(test.name+" "+method, func(t *testing.T) {
				var copied atomic.Int64
				look := func(t *testing.T, addr string) string {
					copied.Store(0)
					all := talk(t, addr, method+" "+test.path+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", false)
					resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(all)), &http.Request{Method: method})
					if err != nil {
						return err.Error()
					}
					body, err := io.ReadAll(resp.Body)
					return fmt.Sprintf("%d, %d bytes, %x, %v", resp.StatusCode, len(body), sha256.Sum256(body), err)
				}
				likeNetHTTP(t, test.h.ServeHTTP, nil, look)
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				serveOn(t, &Server{Handler: Adapt(test.h)}, copyListener{l, &copied})
				look(t, l.Addr().String())
				want := test.copied
				if method == "HEAD" {
					want = 0
				}
				if got := copied.Load(); got != want {
					t.Errorf("the kernel copied %d bytes, want %d", got, want)
				}
			})
		}
	}
}
