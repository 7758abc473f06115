package gcctlhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/isobar-go/isobar/gcctl/gcctlhttp"
)

// A service mounts the handler beside its other debug pages, with a token that
// only the tuner knows. Settings end with their time, or with Close.
func Example() {
	h := gcctlhttp.New(gcctlhttp.Config{Token: "from-a-secret"})
	defer h.Close()
	mux := http.NewServeMux()
	mux.Handle("/debug/gcctl", h)
	server := httptest.NewServer(mux)
	defer server.Close()

	post := func(token string) {
		r, err := http.NewRequest("POST", server.URL+"/debug/gcctl", strings.NewReader(`{"gogc": 200, "hold_seconds": 30}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		fmt.Println(resp.Status, strings.Contains(string(text), `"gogc":200,`))
	}
	post("a guess")
	post("from-a-secret")
	// Output:
	// 401 Unauthorized false
	// 200 OK true
}
