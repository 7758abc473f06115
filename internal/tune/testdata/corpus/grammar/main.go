// Command grammar splits English text into sentences and words, and tags their parts of speech.
package main

import (
	"fmt"
	"log"
	"strings"

	"github.com/jdkato/prose/v2"
)

func main() {
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "The ship with %d sailors left Lisbon on a cold morning, and nobody knew when it would return. ", i+2)
		fmt.Fprintf(&text, "Dr. Smith, who had paid $%d.50 for the voyage, didn't like what he saw. ", i)
	}
	tags := map[string]int{}
	for range 2 {
		doc, err := prose.NewDocument(text.String(), prose.WithExtraction(false))
		if err != nil {
			log.Fatal(err)
		}
		for _, token := range doc.Tokens() {
			tags[token.Tag]++
		}
	}
	fmt.Println(len(tags), tags["NN"])
}
