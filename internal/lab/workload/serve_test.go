package workload

import (
	"cmp"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/load"
)

// TestWarmUpOfAnEarlierRun: a run that is given the warm-up of an earlier one takes exactly that, in equal
// shares of its rates.
func TestWarmUpOfAnEarlierRun(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	c := load.Config{Address: strings.TrimPrefix(server.URL, "http://"), Path: "/", Rate: 200, Connections: 1}
	const given = 120 * time.Millisecond
	task := &served{env: Env{Params: Params{"warmup": "auto"}, WarmUp: given}}
	var spent time.Duration
	for i := range 2 {
		once, err := task.warmUp(t.Context(), c, i == 0, 2)
		if err != nil {
			t.Fatal(err)
		}
		spent += once
	}
	if spent != given {
		t.Errorf("given %v, it warmed up for %v", given, spent)
	}
}

// TestReadyOnASocket: a server on a Unix socket is ready once it listens.
func TestReadyOnASocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a path does not begin with /")
	}
	socket := filepath.Join(t.TempDir(), "s")
	if err := checkReady(socket); err != nil {
		t.Fatal(err)
	}
	task := &served{env: Env{Params: Params{"ready": socket}}, target: &url.URL{}}
	if task.answers(t.Context()) == nil {
		t.Error("ready before it listens")
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := task.answers(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestReadyAtARedirect: a redirect to a login page elsewhere is an answer. Nothing is asked there.
func TestReadyAtARedirect(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; strings.HasPrefix(r.Host, "127.") {
			http.Redirect(w, r, "http://localhost:"+r.Host[strings.LastIndexByte(r.Host, ':')+1:], http.StatusFound)
		}
	}))
	defer server.Close()
	task := &served{env: Env{Params: Params{"ready": server.URL}}, target: new(url.URL)}
	if err := task.answers(t.Context()); err != nil || asked != 1 {
		t.Errorf("%d requests: %v", asked, err)
	}
}

// TestElsewhere: where the server listens at another port than the one asked, that one is named.
func TestElsewhere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it reads /proc")
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	here := strings.TrimPrefix(server.URL, "http://")
	for _, tt := range []struct{ url, ready, want string }{
		{"http://127.0.0.1:1/", "", "it listens on "},
		{"http://127.0.0.1/", "", here},
		{"http://127.0.0.1/", "127.0.0.1:1", here},
		{"http://127.0.0.1:1/", here, "once it is"},
		{server.URL + "/missing", "", "once it is"},
	} {
		target, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		task := &served{env: Env{Params: Params{"ready": tt.ready}}, target: target}
		if got := task.howReady(os.Getpid()); !strings.Contains(got, tt.want) {
			t.Errorf("asked at %s: %q, want %q", cmp.Or(tt.ready, tt.url), got, tt.want)
		}
	}
}

// TestOtherStatus: an answer that the built-in load is not for is named, and what can send another request.
func TestOtherStatus(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusFound} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		defer server.Close()
		r, err := load.Run(t.Context(), load.Config{Address: strings.TrimPrefix(server.URL, "http://"), Path: "/", Rate: 100,
			Duration: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		err = recordLoad(&cell.Record{}, r)
		if err == nil || !strings.Contains(err.Error(), strconv.Itoa(status)) || !strings.Contains(err.Error(), "--load") {
			t.Errorf("%d: %v", status, err)
		}
	}
}
