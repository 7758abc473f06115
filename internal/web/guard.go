package web

import (
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/isobar-go/isobar/internal/base/loopback"
)

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// guard refuses forbidden requests and passes the rest on.
func (s *Server) guard(w http.ResponseWriter, r *http.Request, next http.Handler) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "isobar ui: only GET and HEAD are allowed; this server is read-only", http.StatusMethodNotAllowed)
	case s.config.Token == "" && !loopback.Is(r.Host): // of any port, as behind ssh -L
		http.Error(w, fmt.Sprintf("isobar ui: this server serves this machine, not the host %q; use localhost or the "+
			"printed address", r.Host), http.StatusForbidden)
	case foreign(r):
		http.Error(w, "isobar ui: the request comes from another site; open the address yourself", http.StatusForbidden)
	case s.config.Token != "" && r.URL.Query().Has("token"):
		s.admit(w, r)
	case s.config.Token != "" && !s.admitted(r):
		http.Error(w, "isobar ui: token required; open the address that 'isobar ui' printed", http.StatusUnauthorized)
	default:
		next.ServeHTTP(w, r)
	}
}

// foreign reports whether a page of another origin makes the request. Following a link from
// one is allowed, because the reader receives the answer, not that page.
func foreign(r *http.Request) bool {
	if origin, ok := r.Header["Origin"]; ok {
		u, err := url.Parse(origin[0])
		if len(origin) != 1 || err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return true
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site": // another port of this host is same-site
		return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
	}
	return false
}

// cookie returns the name of the token's cookie. Cookies ignore ports, so two
// servers on a host need two names.
func cookie(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "default"
	}
	return "isobar-ui-" + port
}

// admit exchanges the token in the address for a cookie and redirects to the
// same page without it, so that the token does not stay in the history.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if !s.isToken(query.Get("token")) {
		http.Error(w, "isobar ui: wrong token: each start makes a new one; open the address that 'isobar ui' "+
			"printed last", http.StatusUnauthorized)
		return
	}
	query.Del("token")
	http.SetCookie(w, &http.Cookie{Name: cookie(r), Value: s.config.Token, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: query.Encode()}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

func (s *Server) admitted(r *http.Request) bool {
	if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return s.isToken(given)
	}
	c, err := r.Cookie(cookie(r))
	return err == nil && s.isToken(c.Value)
}

func (s *Server) isToken(given string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(s.config.Token)) == 1
}
