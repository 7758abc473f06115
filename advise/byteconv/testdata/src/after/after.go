package after

import (
	"net/http"
	"unsafe"
)

func validateToken(s string) bool {
	n := 0
	for i := range len(s) {
		n += int(s[i])
	}
	return n == 17
}

func authMiddleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("Authorization")
		if !validateToken(token) {
			http.Error(w, "unauthorized", 401)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// UNSAFE: caller must guarantee the callee does not mutate or retain
// the slice beyond this call.
func stringToBytes(s string) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}
