package before

import (
	"crypto/hmac"
	"crypto/sha256"
	"io"
	"net/http"
)

var key, sum []byte

// The document's code; the token goes to the hash through an interface.
func validateToken(b []byte) bool {
	mac := hmac.New(sha256.New, key)
	mac.Write(b)
	return hmac.Equal(mac.Sum(nil), sum)
}

func authMiddleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("Authorization")
		if !validateToken([]byte(token)) { // want `let it take a string`
			http.Error(w, "unauthorized", 401)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func page(w http.ResponseWriter, r *http.Request) {
	w.Write([]byte(r.URL.Path)) // want `io.WriteString writes the string itself`
	var out io.Writer = w
	if _, err := out.Write([]byte(r.Host)); err != nil { // want `io.WriteString`
		return
	}
}

type cache struct{ token []byte }

func (c *cache) keep(b []byte) { c.token = b }

func fill(c *cache, tokens []string) {
	for _, t := range tokens {
		c.keep([]byte(t)) // want `does not write to it`
	}
}
