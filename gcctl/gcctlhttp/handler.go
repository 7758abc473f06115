// Package gcctlhttp lets a tuner try settings of the collector on a running
// server, whose state would take hours to build again:
//
//	http.Handle("/debug/gcctl", gcctlhttp.New(gcctlhttp.Config{Token: token}))
//
// The program must mount it: nothing serves it by default. GET shows the settings and the
// collector's costs; POST sets GOGC and GOMEMLIMIT for a limited time; DELETE, the end of that time
// and [Handler.Close] restore the settings found before. So a tuner that dies leaves nothing behind.
//
// Without a token it serves only loopback connections, but no pages in a browser and no proxies
// that identify themselves (Forwarded, X-Forwarded-For, X-Real-IP, Via). A proxy on this
// machine that does not identify itself looks like loopback: if there is one, set a token.
// Whoever knows the token may change the settings: put TLS in front of anything but loopback.
//
// A [gcctl.Controller] holds the setting. So a limit below the memory in use is refused,
// GOGC=off needs a limit, and a program with its own controller gets 409 Conflict. The package
// is separate so that gcctl does not link net/http. Any number of goroutines may call a Handler.
package gcctlhttp

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/isobar-go/isobar/gcctl"
	"github.com/isobar-go/isobar/internal/base/loopback"
)

// Config describes a Handler. The zero value serves loopback only.
type Config struct {
	// Token is the token that requests must send as "Authorization: Bearer TOKEN"; ""
	// serves loopback connections only.
	Token string
	// MaxHold bounds how long one POST holds a setting; 0 means ten minutes.
	MaxHold time.Duration
	// Work returns how much the program has done since it began, such as requests
	// served; nil if unknown. Any goroutine may call it.
	Work func() float64
	// Logger receives every change; nil for none.
	Logger *slog.Logger
}

// A Handler serves one process. It must not be copied.
type Handler struct {
	cfg  Config
	born time.Time // constant

	mu    sync.Mutex
	held  *gcctl.Controller // under mu; nil while nothing is held
	limit int64             // under mu; what the held setting asked for, in bytes
	until time.Time         // under mu; when the held setting ends
	timer *time.Timer       // under mu; restores at until
}

// A Setting is the body of a POST, as JSON.
type Setting struct {
	GOGC        int     `json:"gogc"`         // -1 for off, otherwise 1 or more
	LimitBytes  int64   `json:"limit_bytes"`  // GOMEMLIMIT; 0 for the lower of the present and 90 % of the container's
	HoldSeconds float64 `json:"hold_seconds"` // until the settings found are restored; another POST prolongs it
}

// New returns a Handler.
func New(cfg Config) *Handler {
	if cfg.MaxHold <= 0 {
		cfg.MaxHold = 10 * time.Minute
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Handler{cfg: cfg, born: time.Now()}
}

// Close restores the settings that the first POST found.
func (h *Handler) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.restore("closed")
	return nil
}

// ServeHTTP answers GET, POST and DELETE with a State, or refuses with a sentence that says why.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.allowed(r); err != nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "gcctlhttp: "+err.Error(), http.StatusUnauthorized)
		return
	}
	var err error
	switch r.Method {
	case http.MethodGet:
	case http.MethodPost:
		err = h.post(w, r)
	case http.MethodDelete:
		h.mu.Lock()
		h.restore("asked to")
		h.mu.Unlock()
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "gcctlhttp: GET shows, POST sets, DELETE restores", http.StatusMethodNotAllowed)
		return
	}
	switch {
	case errors.Is(err, gcctl.ErrRunning):
		http.Error(w, "gcctlhttp: the program has a gcctl.Controller, which sets GOGC itself", http.StatusConflict)
		return
	case err != nil:
		http.Error(w, "gcctlhttp: "+err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	json.NewEncoder(w).Encode(h.state())
}

// allowed refuses requests that may not change settings. A browser sends an Origin with
// requests whose answer the page may not read; a proxy forwards strangers.
func (h *Handler) allowed(r *http.Request) error {
	if h.cfg.Token != "" {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare([]byte(token), []byte(h.cfg.Token)) != 1 {
			return errors.New(`want the token, as "Authorization: Bearer TOKEN"`)
		}
		return nil
	}
	switch {
	case !loopback.Is(r.RemoteAddr):
		return errors.New("without a token only loopback connections are served")
	case !loopback.Is(r.Host):
		return fmt.Errorf("host %q: use localhost or the loopback address", r.Host)
	case r.Header.Get("Origin") != "":
		return errors.New("pages in browsers are not served")
	case r.Header.Get("X-Forwarded-For")+r.Header.Get("Forwarded")+r.Header.Get("Via")+r.Header.Get("X-Real-Ip") != "":
		return errors.New("a proxy needs a token")
	}
	return nil
}

// maxBody is more than any Setting takes.
const maxBody = 4 << 10

func (h *Handler) post(w http.ResponseWriter, r *http.Request) error {
	var s Setting
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	err := d.Decode(&s)
	if _, more := d.Token(); err == nil && more != io.EOF {
		err = errors.New("there is more after the setting")
	}
	if err != nil {
		return fmt.Errorf(`%w: want {"gogc": 200, "limit_bytes": 0, "hold_seconds": 30}`, err)
	}
	hold := time.Duration(s.HoldSeconds * float64(time.Second))
	if hold <= 0 || hold > h.cfg.MaxHold {
		return fmt.Errorf("hold_seconds %v: want more than 0, up to %v", s.HoldSeconds, h.cfg.MaxHold.Seconds())
	}
	if s.LimitBytes < 0 {
		return fmt.Errorf("limit_bytes %d: want 0 or more", s.LimitBytes)
	}
	mode := gcctl.Off
	if s.GOGC != -1 {
		mode = gcctl.Percent(s.GOGC)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.set(mode, s.LimitBytes); err != nil {
		return err
	}
	h.hold(hold)
	h.cfg.Logger.Info("gcctlhttp: set", "mode", mode.String(), "limit_bytes", s.LimitBytes, "for", hold)
	return nil
}

// set applies a mode; if that is refused, the held setting stays. The caller holds h.mu.
func (h *Handler) set(mode gcctl.Mode, limit int64) error {
	if h.held != nil && limit == h.limit && mode == h.held.Mode() {
		return nil
	}
	before, was, until := h.held, h.limit, h.until
	h.restore("set again")
	err := h.start(mode, limit)
	if err != nil && before != nil && h.start(before.Mode(), was) == nil {
		h.hold(time.Until(until))
	}
	return err
}

// start begins to control the collector. The caller holds h.mu.
func (h *Handler) start(mode gcctl.Mode, limit int64) error {
	c, err := gcctl.Start(gcctl.Config{Mode: mode, LimitBytes: limit, Logger: h.cfg.Logger})
	if err == nil {
		h.held, h.limit = c, limit
	}
	return err
}

// hold makes the held setting end after d. The caller holds h.mu.
func (h *Handler) hold(d time.Duration) {
	h.until = time.Now().Add(d)
	if h.timer != nil {
		h.timer.Stop()
	}
	h.timer = time.AfterFunc(d, h.expire)
}

// expire restores once the held setting's time is over.
func (h *Handler) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !time.Now().Before(h.until) { // not prolonged meanwhile
		h.restore("its time is over")
	}
}

// restore ends the held setting, if there is one. The caller holds h.mu.
func (h *Handler) restore(why string) {
	if h.held == nil {
		return
	}
	h.held.Close()
	h.held, h.until = nil, time.Time{}
	h.timer.Stop()
	h.cfg.Logger.Info("gcctlhttp: restored", "why", why)
}
