// Command markdown renders a document to HTML over and over, with goldmark.
package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

func main() {
	source, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	source = []byte(strings.Repeat(string(source), 4))
	md := goldmark.New(goldmark.WithExtensions(extension.GFM))
	total := 0
	for range 120 {
		var out bytes.Buffer
		if err := md.Convert(source, &out); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		total += out.Len()
	}
	fmt.Println(total)
}
