// Command invoice reads an XML document, changes what a path finds, and writes it.
package main

import (
	"fmt"
	"log"
	"strings"

	"github.com/beevik/etree"
)

func main() {
	var b strings.Builder
	b.WriteString("<orders>")
	for i := range 6000 {
		fmt.Fprintf(&b, `<order id="%d"><buyer>buyer %d</buyer><line article="a%d" price="%d.50"/><line article="b" price="3"/></order>`,
			i, i%97, i%50, i%90)
	}
	b.WriteString("</orders>")
	for range 8 {
		document := etree.NewDocument()
		if err := document.ReadFromString(b.String()); err != nil {
			log.Fatal(err)
		}
		for _, line := range document.FindElements("//line[@article='b']") {
			line.CreateAttr("tax", "0.19")
		}
		out, err := document.WriteToString()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(out))
	}
}
