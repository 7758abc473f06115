package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
)

// accepted counts the connections of this server.
var accepted atomic.Uint64

func count(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		accepted.Add(1)
	}
}

// reference has the routes of the example service that the clients need, on
// net/http.
func reference(maxBody int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		}
		switch {
		case len(r.URL.Path) >= 5 && r.URL.Path[:5] == "/echo":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			io.WriteString(w, r.RequestURI)
		case r.URL.Path == "/upload":
			hash := sha256.New()
			n, err := io.Copy(hash, r.Body)
			if err != nil {
				refuse(w, err)
				return
			}
			answer(w, 200, map[string]any{"bytes": n, "sha256": fmt.Sprintf("%x", hash.Sum(nil))})
		case r.URL.Path == "/api/notes":
			body, err := io.ReadAll(r.Body)
			if err != nil {
				refuse(w, err)
				return
			}
			answer(w, 201, map[string]any{"text": len(body)})
		case r.URL.Path == "/stats":
			answer(w, 200, map[string]any{"Accepted": accepted.Load()})
		default:
			http.Error(w, "not found", 404)
		}
	})
}

func refuse(w http.ResponseWriter, err error) {
	status := 400
	if over := (*http.MaxBytesError)(nil); errors.As(err, &over) {
		status = 413
	}
	http.Error(w, err.Error(), status)
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(value)
}
