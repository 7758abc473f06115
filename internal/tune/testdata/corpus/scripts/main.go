// Command scripts compiles and runs scripts that count words and sort names.
package main

import (
	"fmt"
	"log"

	"github.com/d5/tengo/v2"
)

const source = `
names := []
counts := {}
for i := 0; i < 3000; i++ {
	name := "name " + string((i * 7919) % 1009)
	names = append(names, {name: name, at: i})
	counts[name] = (counts[name] || 0) + 1
}
most := 0
for _, n in counts { if n > most { most = n } }
`

func main() {
	total := 0
	for range 40 {
		done, err := tengo.NewScript([]byte(source)).Run()
		if err != nil {
			log.Fatal(err)
		}
		total += done.Get("most").Int() + len(done.Get("names").Array())
	}
	fmt.Println(total)
}
