// Command articles serves a page of HTML as Markdown.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	htmltomarkdown "github.com/JohannesKaufmann/html-to-markdown/v2"
)

func main() {
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "<h2>Part %d</h2><p>Some <b>words</b> with a <a href=\"https://example.org/%d\">link</a>.</p>"+
			"<ul><li>one</li><li>two <em>of</em> them</li></ul>", i, i)
	}
	page := text.String()
	http.HandleFunc("/article", func(w http.ResponseWriter, r *http.Request) {
		markdown, err := htmltomarkdown.ConvertString(page)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, markdown)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
