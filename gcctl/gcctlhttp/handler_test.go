package gcctlhttp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isobar-go/isobar/gcctl"
)

// ask sends a request as from this machine and returns the status and the
// answer.
func ask(t *testing.T, h *Handler, method, body string, header ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, "http://localhost/debug/gcctl", strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:4711"
	for i := 0; i < len(header); i += 2 {
		switch header[i] {
		case "Host":
			r.Host = header[i+1]
		case "From":
			r.RemoteAddr = header[i+1]
		default:
			r.Header.Set(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func stateOf(t *testing.T, h *Handler, method, body string) State {
	t.Helper()
	code, text := ask(t, h, method, body)
	var s State
	if err := json.Unmarshal([]byte(text), &s); err != nil || code != http.StatusOK {
		t.Fatalf("%s %s: status %d: %s", method, body, code, text)
	}
	return s
}

func TestGuard(t *testing.T) {
	open, closed := New(Config{}), New(Config{Token: "s3cret"})
	for name, tc := range map[string]struct {
		h      *Handler
		header []string
		want   int
	}{
		"loopback":                      {open, nil, 200},
		"loopback, IPv6":                {open, []string{"From", "[::1]:99", "Host", "[::1]:8080"}, 200},
		"a name below localhost":        {open, []string{"Host", "app.localhost:8080"}, 200},
		"another machine":               {open, []string{"From", "192.0.2.1:99"}, 401},
		"a name that was rebound":       {open, []string{"Host", "evil.example"}, 401},
		"a page":                        {open, []string{"Origin", "http://localhost"}, 401},
		"a proxy":                       {open, []string{"X-Forwarded-For", "192.0.2.1"}, 401},
		"a proxy that hides its client": {open, []string{"Via", "1.1 proxy"}, 401},
		"a token where none is set":     {open, []string{"From", "192.0.2.1:99", "Authorization", "Bearer x"}, 401},
		"no token":                      {closed, nil, 401},
		"another token":                 {closed, []string{"Authorization", "Bearer s3cre"}, 401},
		"a proxy that names an address": {open, []string{"X-Real-IP", "192.0.2.1"}, 401},
		"a token without its scheme":    {closed, []string{"Authorization", "s3cret"}, 401},
		"a scheme in small letters":     {closed, []string{"Authorization", "bearer s3cret"}, 200},
		"the token from another place":  {closed, []string{"From", "192.0.2.1:99", "Authorization", "Bearer s3cret"}, 200},
	} {
		if code, text := ask(t, tc.h, "GET", "", tc.header...); code != tc.want {
			t.Errorf("%s: status %d, want %d: %s", name, code, tc.want, text)
		}
	}
}

func TestSetAndRestore(t *testing.T) {
	before := debug.SetGCPercent(120)
	defer debug.SetGCPercent(before)
	work := 7.0
	h := New(Config{Work: func() float64 { return work }})
	if s := stateOf(t, h, "GET", ""); s.GOGC != 120 || s.Held || s.FoundGOGC != 120 || s.Work != 7 || s.CPUSeconds <= 0 ||
		s.PID == 0 || s.HeapBytes <= 0 || s.AllocatedBytes <= 0 {
		t.Errorf("before: %+v", s)
	}
	if s := stateOf(t, h, "POST", `{"gogc": 350, "limit_bytes": 1073741824, "hold_seconds": 60}`); s.GOGC != 350 ||
		s.LimitBytes != 1<<30 || !s.Held || s.HeldForSeconds <= 0 || s.FoundGOGC != 120 || s.FoundLimitBytes != 0 {
		t.Errorf("set: %+v", s)
	}
	if s := stateOf(t, h, "POST", `{"gogc": -1, "limit_bytes": 536870912, "hold_seconds": 60}`); s.GOGC != -1 ||
		s.LimitBytes != 512<<20 || s.FoundGOGC != 120 {
		t.Errorf("off: %+v", s)
	}
	if s := stateOf(t, h, "DELETE", ""); s.GOGC != 120 || s.LimitBytes != 0 || s.Held {
		t.Errorf("restored: %+v", s)
	}
	stateOf(t, h, "POST", `{"gogc": 200, "hold_seconds": 60}`)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if s := stateOf(t, h, "DELETE", ""); s.GOGC != 120 || s.Held {
		t.Errorf("closed: %+v", s)
	}
}

func TestRefusals(t *testing.T) {
	h := New(Config{MaxHold: time.Minute})
	defer h.Close()
	for body, want := range map[string]string{
		`{"gogc": 0, "hold_seconds": 1}`:                       "out of range",
		`{"gogc": -5, "hold_seconds": 1}`:                      "out of range",
		`{"gogc": 100}`:                                        "hold_seconds 0",
		`{"gogc": 100, "hold_seconds": 61}`:                    "up to 60",
		`{"gogc": 100, "hold_seconds": 1, "limit_bytes": -1}`:  "limit_bytes -1",
		`{"gogc": -1, "hold_seconds": 1, "limit_bytes": 4096}`: "below the",
		`{"percent": 100, "hold_seconds": 1}`:                  "unknown field",
		`GOGC=100`:                                             "want {",
		`{"gogc": 100, "hold_seconds": 1}{"gogc": 200}`:        "more after",
		strings.Repeat(" ", 1<<13):                             "too large",
	} {
		if code, text := ask(t, h, "POST", body); code != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%.50s: status %d: %s; want 400 and %q", body, code, text, want)
		}
	}
	if code, _ := ask(t, h, "PUT", "{}"); code != http.StatusMethodNotAllowed {
		t.Errorf("PUT: status %d", code)
	}
	c, err := gcctl.Start(gcctl.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if code, text := ask(t, h, "POST", `{"gogc": 100, "hold_seconds": 1}`); code != http.StatusConflict {
		t.Errorf("beside a controller: status %d: %s", code, text)
	}
}

// A refused setting changes neither the held one nor its end.
func TestRefusalKeepsWhatIsHeld(t *testing.T) {
	before := debug.SetGCPercent(120)
	defer debug.SetGCPercent(before)
	synctest.Test(t, func(t *testing.T) {
		h := New(Config{})
		defer h.Close()
		stateOf(t, h, "POST", `{"gogc": 300, "hold_seconds": 10}`)
		time.Sleep(4 * time.Second)
		for _, refused := range []string{`{"gogc": -1, "hold_seconds": 60}`, `{"gogc": 0, "hold_seconds": 60}`,
			`{"gogc": 200, "limit_bytes": 4096, "hold_seconds": 60}`} {
			if code, text := ask(t, h, "POST", refused); code != http.StatusBadRequest {
				t.Errorf("%s: status %d: %s", refused, code, text)
			}
			if s := stateOf(t, h, "GET", ""); s.GOGC != 300 || s.FoundGOGC != 120 || s.HeldForSeconds != 6 {
				t.Errorf("after %s: %+v", refused, s)
			}
		}
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if s := stateOf(t, h, "GET", ""); s.GOGC != 120 || s.Held {
			t.Errorf("after its time: %+v", s)
		}
	})
}

// TestHoldEnds lets the tuner die: the setting ends by itself, but not while it is prolonged.
func TestHoldEnds(t *testing.T) {
	before := debug.SetGCPercent(120)
	defer debug.SetGCPercent(before)
	synctest.Test(t, func(t *testing.T) {
		h := New(Config{})
		defer h.Close()
		for range 3 {
			stateOf(t, h, "POST", `{"gogc": 300, "hold_seconds": 10}`)
			time.Sleep(9 * time.Second)
			if s := stateOf(t, h, "GET", ""); s.GOGC != 300 || !s.Held {
				t.Errorf("while it is held: %+v", s)
			}
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s := stateOf(t, h, "GET", ""); s.GOGC != 120 || s.Held {
			t.Errorf("after its time: %+v", s)
		}
	})
}
