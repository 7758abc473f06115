// Command render fills a text template over and over, beside a catalogue that
// lives on.
package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"text/template"
)

type product struct {
	Name, Text string
	Tags       []string
	Price      float64
}

const page = `{{range .}}* {{.Name | upper}} {{printf "%.2f" .Price}}{{range .Tags}} #{{.}}{{end}}
{{if gt .Price 50.0}}{{.Text}}{{end}}
{{end}}`

func main() {
	catalogue := make([]product, 60_000)
	for i := range catalogue {
		catalogue[i] = product{fmt.Sprint("product ", i), strings.Repeat("words ", 10), []string{"a", fmt.Sprint("t", i%50)}, float64(i % 100)}
	}
	t := template.Must(template.New("page").Funcs(template.FuncMap{"upper": strings.ToUpper}).Parse(page))
	var group sync.WaitGroup
	for w := range 2 {
		group.Go(func() {
			for n := range 350 {
				var out bytes.Buffer
				at := (n*2 + w) * 20 % 50_000
				if err := t.Execute(&out, catalogue[at:at+200]); err != nil {
					panic(err)
				}
			}
		})
	}
	group.Wait()
}
