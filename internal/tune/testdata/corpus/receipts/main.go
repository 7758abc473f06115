// Command receipts fills templates with purchases.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/cbroglie/mustache"
)

const page = `{{#people}}<h1>{{name}}</h1><ul>{{#bought}}<li>{{what}}: {{price}}</li>{{/bought}}</ul>{{/people}}`

func main() {
	template, err := mustache.ParseString(page)
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/receipt", func(w http.ResponseWriter, r *http.Request) {
		var people []map[string]any
		for i := range 60 {
			var bought []map[string]string
			for n := range 4 {
				bought = append(bought, map[string]string{"what": fmt.Sprintf("thing <%d>", n), "price": fmt.Sprint(i * n)})
			}
			people = append(people, map[string]any{"name": fmt.Sprintf("person %d", i), "bought": bought})
		}
		text, err := template.Render(map[string]any{"people": people})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, text)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
