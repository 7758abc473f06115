// Command feeds reads an RSS feed.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/mmcdole/gofeed"
)

func main() {
	var text strings.Builder
	text.WriteString(`<rss version="2.0"><channel><title>News</title>`)
	for i := range 40 {
		fmt.Fprintf(&text, "<item><title>Title %d</title><link>https://example.org/%d</link><description>About %d</description>"+
			"<pubDate>Mon, 02 Nov 2026 15:04:%02d GMT</pubDate></item>", i, i, i, i)
	}
	text.WriteString("</channel></rss>")
	feed := text.String()
	http.HandleFunc("/feed", func(w http.ResponseWriter, r *http.Request) {
		read, err := gofeed.NewParser().ParseString(feed)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		for _, item := range read.Items {
			fmt.Fprintln(w, item.Title, item.Published)
		}
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
