//go:build unix

package http11

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A FIFO, a socket or a device in a tree counts as missing, and nobody waits
// for the other end.
func TestSpecialFiles(t *testing.T) {
	root := newTree(t, "a.txt", "d/x.txt")
	for _, name := range []string{"fifo", "d/index.html"} {
		if err := syscall.Mkfifo(filepath.Join(root.Name(), name), 0o600); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Symlink("fifo", filepath.Join(root.Name(), "link")); err != nil {
		t.Fatal(err)
	}
	// Socket paths must be short: the tree may lie deeper.
	short, err := os.MkdirTemp("", "h")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	l, err := net.Listen("unix", filepath.Join(short, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Rename(filepath.Join(short, "s"), filepath.Join(root.Name(), "socket")); err != nil {
		t.Fatal(err)
	}
	eachEngine(t, func(t *testing.T) {
		addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) {
			if c.Query().Equal("device") {
				c.SendFile(os.DevNull)
				return
			}
			if c.Query().Equal("name") {
				c.SendFile(filepath.Join(root.Name(), c.Path().String()))
				return
			}
			Files(root, "/").ServeHTTP11(c)
		})})
		for range 10 { // more than there are loops
			for _, target := range []string{"/fifo", "/link", "/socket", "/d/", "/fifo?name", "/socket?name", "/?device"} {
				for _, method := range []string{"GET", "HEAD", "POST"} {
					if resp, _ := fetch(t, addr, method, target); resp.StatusCode != 404 {
						t.Errorf("%s %s: status %d, want 404", method, target, resp.StatusCode)
					}
				}
			}
		}
		if resp, got := fetch(t, addr, "GET", "/a.txt"); got != "a.txt" {
			t.Errorf("%d %q", resp.StatusCode, got)
		}
	})
}
