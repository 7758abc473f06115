// Command pages renders a catalogue by a template.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"

	"github.com/CloudyKit/jet/v6"
)

const page = `<html><title>{{ title }}</title><table>
{{ range i, a := articles }}<tr class="{{ i % 2 == 0 ? "even" : "odd" }}"><td>{{ a.Name }}<td>{{ a.Price }}<td>{{ len(a.Tags) }}
{{ range _, t := a.Tags }}<b>{{ t }}</b>{{ end }}</tr>
{{ end }}</table></html>`

type article struct {
	Name  string
	Price float64
	Tags  []string
}

func main() {
	var articles []article
	for i := range 20_000 {
		articles = append(articles, article{fmt.Sprintf("article <%d>", i), float64(i) * 1.5, []string{"new", fmt.Sprint(i % 7)}})
	}
	loader := jet.NewInMemLoader()
	loader.Set("page.jet", page)
	set := jet.NewSet(loader)
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("from"))
		t, err := set.GetTemplate("page.jet")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		from = min(max(from, 0), len(articles)-40)
		vars := jet.VarMap{}
		vars.Set("title", "Catalogue").Set("articles", articles[from:from+40])
		if err := t.Execute(w, vars, nil); err != nil {
			log.Print(err)
		}
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
