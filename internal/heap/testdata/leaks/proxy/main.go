// Proxy runs an HTTP proxy before a server of pages.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"

	"github.com/elazarl/goproxy"

	"leaks/plant"
)

func main() { plant.Main(serve, load) }

func serve(keep func(any, []byte)) string {
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.URL.Path, strings.Repeat(" a line of the page\n", 60))
	}))
	p := goproxy.NewProxyHttpServer()
	p.OnResponse().DoFunc(func(resp *http.Response, ctx *goproxy.ProxyCtx) *http.Response {
		if resp == nil {
			return nil
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return resp
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		keep(ctx.Req.Header.Clone(), body)
		return resp
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	plant.Must(err)
	go http.Serve(l, p)
	return l.Addr().String() + "," + pages.URL
}

func load(address string) {
	proxy, pages, _ := strings.Cut(address, ",")
	at, err := url.Parse("http://" + proxy)
	plant.Must(err)
	client := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return at, nil },
		MaxIdleConnsPerHost: 20}}
	var all sync.WaitGroup
	for c := range 16 {
		all.Go(func() {
			for i := range 1000 {
				req, err := http.NewRequest("GET", fmt.Sprint(pages, "/page/", c, "/", i), nil)
				plant.Must(err)
				req.Header.Set("X-Session", fmt.Sprint(c))
				if resp, err := client.Do(req); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
		})
	}
	all.Wait()
}
