// Command comments cleans HTML that readers wrote.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/microcosm-cc/bluemonday"
)

func main() {
	policy := bluemonday.UGCPolicy()
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, `<p onclick="run(%d)">I <b>agree</b> with <a href="https://example.org/%d" target="_blank">this</a>`+
			`<script>alert(%d)</script> &amp; <img src="/picture%d.png" alt="a picture"></p>`, i, i, i, i)
	}
	comments := text.String()
	http.HandleFunc("/clean", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, policy.Sanitize(comments))
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
