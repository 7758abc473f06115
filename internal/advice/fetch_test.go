package advice

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

func TestEndpoints(t *testing.T) {
	got := endpoints([]string{"mem.pb.gz", "http://a:1/debug/pprof/", "https://b/x/debug/pprof", "http://a:1/debug/pprof/heap?seconds=3", "dir/debug/pprof"})
	want := []string{
		"mem.pb.gz", "http://a:1/debug/pprof/heap", "http://a:1/debug/pprof/profile?seconds=10",
		"https://b/x/debug/pprof/heap", "https://b/x/debug/pprof/profile?seconds=10", "http://a:1/debug/pprof/heap?seconds=3", "dir/debug/pprof",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFetch takes profiles of this program over its own endpoint.
func TestFetch(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/private", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	mux.HandleFunc("/login/debug/pprof/allocs", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") })
	server := httptest.NewServer(mux)
	defer server.Close()
	for path, want := range map[string]string{"/debug/pprof/allocs": "alloc_space", "/debug/pprof/profile?seconds=1": "cpu"} {
		body, err := open(t.Context(), server.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(body)
		if body.Close(); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(p.SampleType, func(st *profile.ValueType) bool { return st.Type == want }) {
			t.Errorf("%s: sample types %v, want %s", path, p.SampleType, want)
		}
	}
	secure := httptest.NewUnstartedServer(mux)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, want := range map[string]string{
		server.URL + "/debug/pprof/nosuch": "404 Not Found", gone.URL + "/debug/pprof/allocs": "is the program running", "http://[/debug": "missing ']' in host",
		"localhost:6060/debug/pprof/": "a URL begins with http://", strings.Replace(server.URL, "//", "//ops:s3cret@", 1) + "/x": "//ops:xxxxx@",
		server.URL + "/private":            "USER:PASSWORD",
		secure.URL + "/debug/pprof/allocs": "SSL_CERT_FILE",
	} {
		if _, err := open(t.Context(), name); err == nil || !strings.HasPrefix(err.Error(), "advise: profile: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	for name, want := range map[string]string{
		server.URL + "/debug/pprof/goroutine":    "it has goroutine; give alloc_objects with alloc_space",
		server.URL + "/debug/pprof/heap?debug=1": "it names no lines of code",
		save(t, &profile.Profile{SampleType: []*profile.ValueType{{Type: "inuse_objects"}, {Type: "inuse_space"}}}): "it has inuse_objects, inuse_space; give",
		save(t, &profile.Profile{SampleType: []*profile.ValueType{{Type: "alloc_space"}}}):                          "it has alloc_space; give",
		save(t, &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu"}}}):                                  "it has no samples",
		strings.Replace(server.URL, "//", "//ops:s3cret@", 1) + "/login/debug/pprof/allocs":                         "//ops:xxxxx@",
	} {
		if _, err := join(t.Context(), Config{Profiles: []string{name}}, nil, ".", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	defer func(d time.Duration) { patience = d }(patience)
	patience = 50 * time.Millisecond
	if _, err := open(t.Context(), server.URL+"/hangs"); err == nil || !strings.Contains(err.Error(), "awaiting response headers") {
		t.Errorf("an endpoint that never answers: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(ctx, server.URL+"/hangs"); err == nil {
		t.Error("no error where the command was interrupted")
	}
}
