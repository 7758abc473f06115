package load

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestChunks requests a response without Content-Length.
func TestChunks(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" || r.URL.RawQuery != "n=3" {
			t.Errorf("request for %s", r.URL)
		}
		for range 3 {
			io.WriteString(w, strings.Repeat("x", 5000))
			w.(http.Flusher).Flush()
		}
	}
	c := Config{Path: "/page?n=3", Rate: 10, Duration: 2 * time.Second}
	simulate(t, c, &http.Server{Handler: http.HandlerFunc(handler)}, func(r Result) {
		if r.Done != 20 || r.Failed != 0 {
			t.Errorf("done %d, failed %d (%v); want 20", r.Done, r.Failed, r.FirstErr)
		}
	})
}
