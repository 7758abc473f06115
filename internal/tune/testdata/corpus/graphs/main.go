// Command graphs reads a graph in the language of Graphviz, adds to it and writes it, several times.
package main

import (
	"fmt"
	"log"
	"strings"

	"github.com/awalterschulze/gographviz"
)

func main() {
	var text strings.Builder
	text.WriteString("digraph services {\n")
	for i := range 400 {
		fmt.Fprintf(&text, "  s%d [label=\"service %d\", color=blue];\n  s%d -> s%d [weight=%d];\n", i, i, i, (i*7+1)%400, i%9)
	}
	text.WriteString("}\n")
	dot := text.String()
	for round := range 20 {
		graph, err := gographviz.Read([]byte(dot))
		if err != nil {
			log.Fatal(err)
		}
		if err := graph.AddNode("services", fmt.Sprintf("added%d", round), map[string]string{"color": "red"}); err != nil {
			log.Fatal(err)
		}
		dot = graph.String()
	}
	fmt.Println(len(dot))
}
