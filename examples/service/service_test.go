package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/isobar-go/isobar/http11"
)

// start serves in one memory mode and returns the address.
func start(t *testing.T, engine http11.Engine, mode http11.MemoryMode, dir string) string {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	server := &http11.Server{Engine: engine, Memory: http11.Memory{Mode: mode}, MaxBodyBytes: 1 << 30}
	server.Handler = newService(root, server.Stats)
	return serve(t, server)
}

func each(t *testing.T, f func(t *testing.T, addr, dir string)) {
	for _, engine := range engines() {
		for _, mode := range http11.MemoryModes() {
			t.Run(engine.String()+"/"+mode.String(), func(t *testing.T) {
				dir := t.TempDir()
				f(t, start(t, engine, mode, dir), dir)
			})
		}
	}
}

func do(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

func TestAPI(t *testing.T) {
	each(t, func(t *testing.T, addr, _ string) {
		base := "http://" + addr
		for _, step := range []struct {
			method, path, body string
			status             int
			want               string
		}{
			{"GET", "/api/notes", "", 200, `[]`},
			{"POST", "/api/notes", `{"text":"a"}`, 201, `{"id":1,"text":"a"}`},
			{"POST", "/api/notes", `{"text":"b"}`, 201, `{"id":2,"text":"b"}`},
			{"POST", "/api/notes", `{"text":`, 400, "unexpected end of JSON input\n"},
			{"GET", "/api/notes/2", "", 200, `{"id":2,"text":"b"}`},
			{"DELETE", "/api/notes/1", "", 204, ""},
			{"GET", "/api/notes/1", "", 404, "not found\n"},
			{"GET", "/api/notes", "", 200, `[{"id":2,"text":"b"}]`},
			{"PUT", "/api/notes/2", "x", 405, "the method is not allowed\n"},
			{"GET", "/api/notesx", "", 404, "not found\n"},
			{"GET", `/echo/a%2Fb[1]?q="é"`, "", 200, `/echo/a%2Fb[1]?q="é"`},
			{"GET", "/", "", 404, "not found\n"},
		} {
			status, got := do(t, step.method, base+step.path, step.body)
			if status != step.status || got != step.want {
				t.Errorf("%s %s: %d %q, want %d %q", step.method, step.path, status, got, step.status, step.want)
			}
		}
	})
}

func TestFiles(t *testing.T) {
	each(t, func(t *testing.T, addr, dir string) {
		data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		if err := os.WriteFile(filepath.Join(dir, "data.bin"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		url := "http://" + addr + "/files/data.bin"
		if status, got := do(t, "GET", url, ""); status != 200 || got != string(data) {
			t.Errorf("status %d, %d bytes, want %d", status, len(got), len(data))
		}
		if status, got := do(t, "GET", url, "", "Range", "bytes=500000-600000"); status != 206 || got != string(data[500000:600001]) {
			t.Errorf("status %d, %d bytes of a range", status, len(got))
		}
	})
}

func TestUpload(t *testing.T) {
	each(t, func(t *testing.T, addr, _ string) {
		data := bytes.Repeat([]byte("upload "), 1_000_000)
		resp, err := http.Post("http://"+addr+"/upload", "", io.MultiReader(bytes.NewReader(data))) // chunked
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var got struct {
			Bytes  int
			SHA256 string
		}
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%x", sha256.Sum256(data)); got.Bytes != len(data) || got.SHA256 != want {
			t.Errorf("got %+v, want %d bytes, %s", got, len(data), want)
		}
	})
}

func TestWebSocket(t *testing.T) {
	each(t, func(t *testing.T, addr, _ string) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				conn, _, err := websocket.Dial(ctx, "ws://"+addr+"/ws", nil)
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.CloseNow()
				for i := range 100 {
					message := strings.Repeat("m", i*i)
					if err := conn.Write(ctx, websocket.MessageText, []byte(message)); err != nil {
						t.Error(err)
						return
					}
					if _, got, err := conn.Read(ctx); err != nil || string(got) != message {
						t.Errorf("message %d: %d bytes, %v", i, len(got), err)
						return
					}
				}
				if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}
