package http11_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/isobar-go/isobar/http11"
)

// A form, with a query and a cookie.
func ExampleValues() {
	server := &http11.Server{Handler: http11.HandlerFunc(func(c *http11.Context) {
		form, err := c.FormValues()
		if errors.Is(err, http11.ErrNotForm) {
			c.Error(415, "send a form")
			return
		}
		if err != nil {
			return // the server answers
		}
		title, _ := form.Get("title")
		lang, ok := c.QueryValues().Get("lang")
		user, _ := c.Cookie("user")
		fmt.Fprintf(c, "%s by %s; lang %s, %v\n", title, user, lang, ok)
		for name, value := range form.All() {
			if name.Equal("tag") {
				fmt.Fprintf(c, "tag %s\n", value)
			}
		}
	})}
	form := strings.NewReader("title=Na%C3%AFve+Art&tag=painting&tag=19th+century")
	r := httptest.NewRequest("POST", "/pictures?lang=en", form)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: "user", Value: "henri"})
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	fmt.Print(w.Body)
	// Output:
	// Naïve Art by henri; lang en, true
	// tag painting
	// tag 19th century
}
