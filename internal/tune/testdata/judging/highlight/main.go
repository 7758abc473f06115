// Command highlight writes a Go file as coloured HTML, over and over.
package main

import (
	"io"
	"log"
	"os"

	"github.com/alecthomas/chroma/v2/quick"
)

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	for range 4 {
		if err := quick.Highlight(io.Discard, string(data), "go", "html", "github"); err != nil {
			log.Fatal(err)
		}
	}
}
