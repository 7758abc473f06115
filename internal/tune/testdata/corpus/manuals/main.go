// Command manuals turns a page of a manual in Markdown into HTML for each request.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

func main() {
	var page strings.Builder
	for i := range 12 {
		fmt.Fprintf(&page, "## Step %d\n\nOpen *the lid*, see [figure %d](fig-%d.png), and **wait**.\n\n", i, i, i)
		page.WriteString("| part | number |\n| --- | ---: |\n| screw | 4 |\n| nut | 4 |\n\n- one `bolt`\n- two ~~nails~~ pins\n\n")
		page.WriteString("```\nturn left\nturn right\n```\n\n> Do not force it.\n\n")
	}
	text := []byte(page.String())
	md := goldmark.New(goldmark.WithExtensions(extension.GFM))
	http.HandleFunc("/manual", func(w http.ResponseWriter, r *http.Request) {
		if err := md.Convert(text, w); err != nil {
			log.Print(err)
		}
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
