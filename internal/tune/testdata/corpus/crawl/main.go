// Command crawl parses pages and follows selectors through them.
package main

import (
	"fmt"
	"log"
	"strings"

	"github.com/PuerkitoBio/goquery"
)

func main() {
	var b strings.Builder
	b.WriteString("<html><body>")
	for i := range 8000 {
		fmt.Fprintf(&b, `<div class="item c%d"><h2>Item %d</h2><p>Some <b>text</b> about it</p><a href="/item/%d">more</a></div>`, i%9, i, i)
	}
	b.WriteString("</body></html>")
	links, words := map[string]int{}, 0
	for range 12 {
		page, err := goquery.NewDocumentFromReader(strings.NewReader(b.String()))
		if err != nil {
			log.Fatal(err)
		}
		page.Find("div.item").Each(func(_ int, item *goquery.Selection) {
			href, _ := item.Find("a").Attr("href")
			links[href]++
			words += len(strings.Fields(item.Find("p").Text()))
		})
	}
	fmt.Println(len(links), words)
}
