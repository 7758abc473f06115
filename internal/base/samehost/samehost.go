// Package samehost keeps HTTP requests at the host that the user named.
package samehost

import "net/http"

// Redirect is an http.Client's CheckRedirect. It follows a redirect on the host that was asked. One to
// another host, such as a login page, is the answer.
func Redirect(req *http.Request, via []*http.Request) error {
	if req.URL.Hostname() != via[0].URL.Hostname() || len(via) == 10 {
		return http.ErrUseLastResponse
	}
	return nil
}
