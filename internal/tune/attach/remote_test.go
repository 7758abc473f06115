package attach

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRemoteIsTheHandler: responses of other servers are told from refusals by gcctlhttp.
func TestRemoteIsTheHandler(t *testing.T) {
	for name, tc := range map[string]struct {
		status     int
		text, want string
	}{
		"a page":           {200, "<html>", "is not the handler of gcctl/gcctlhttp: 200 OK: <html>"},
		"metrics":          {200, "cpus 2\nbytes 7\n", "200 OK: cpus 2 bytes 7"},
		"other JSON":       {200, `{"key": 7}`, "is not the handler"},
		"another path":     {404, "404 page not found", "is not the handler of gcctl/gcctlhttp: 404 Not Found"},
		"another password": {401, "who are you?", "is not the handler"},
		"no token":         {401, "gcctlhttp: want the token", "want the token: give --token-file"},
		"a controller":     {409, "gcctlhttp: the program has a gcctl.Controller", "409 Conflict: gcctlhttp: the program has"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, tc.text, tc.status)
		}))
		if _, err := (Remote{URL: s.URL}).Look(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", name, err, tc.want)
		}
		s.Close()
	}
}
