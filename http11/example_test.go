package http11_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/isobar-go/isobar/http11"
)

func Example() {
	server := &http11.Server{
		Memory: http11.Memory{Mode: http11.Arena},
		Handler: http11.HandlerFunc(func(c *http11.Context) {
			body, err := c.Body()
			if err != nil {
				return // the server answers
			}
			c.SetHeader("Content-Type", "text/plain")
			fmt.Fprintf(c, "%s %s with %d bytes", c.Method(), c.Path(), body.Len())
		}),
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	end := make(chan error)
	go func() { end <- server.Serve(l) }()

	resp, err := http.Get("http://" + l.Addr().String() + "/hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	fmt.Println(resp.Status, string(answer))

	if err := server.Shutdown(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println(<-end)
	// Output:
	// 200 OK GET /hello with 0 bytes
	// http11: Serve: the server is closed; make a new one
}

// Move one route of a net/http server and keep the others.
func ExampleServer_ServeHTTP() {
	mux := http.NewServeMux()
	mux.HandleFunc("/old", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "net/http") })
	mux.Handle("/new", &http11.Server{Handler: http11.HandlerFunc(func(c *http11.Context) { c.WriteString("http11") })})
	for _, path := range []string{"/old", "/new"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		fmt.Println(path, w.Code, w.Body)
	}
	// Output:
	// /old 200 net/http
	// /new 200 http11
}

// Run a net/http handler behind this server.
func ExampleAdapt() {
	old := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello from", r.URL.Path)
	})
	server := &http11.Server{Handler: http11.Adapt(old)}
	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequest("GET", "/there", nil))
	fmt.Print(w.Body)
	// Output: hello from /there
}
