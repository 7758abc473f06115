// Command service answers HTTP requests with JSON made from templates and a
// table in memory.
package main

import (
	"encoding/json"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"os"
	"strconv"
	"sync"
)

type item struct {
	ID    int               `json:"id"`
	Name  string            `json:"name"`
	Tags  map[string]string `json:"tags"`
	Price float64           `json:"price"`
}

var page = template.Must(template.New("page").Parse(`<ul>{{range .}}<li>{{.ID}} {{.Name}} {{.Price}} {{range $k, $v := .Tags}}{{$k}}={{$v}} {{end}}</li>{{end}}</ul>`))

var table = struct {
	sync.RWMutex
	items []*item // guarded by the lock
}{}

func main() {
	for i := range 60_000 {
		table.items = append(table.items, &item{ID: i, Name: "item " + strconv.Itoa(i), Tags: map[string]string{"kind": strconv.Itoa(i % 7), "row": strconv.Itoa(i % 91)}, Price: float64(i) / 3})
	}
	http.HandleFunc("GET /items", func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.FormValue("from"))
		table.RLock()
		items := table.items[from : from+40]
		table.RUnlock()
		body, err := json.Marshal(items)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		var back []item
		if err := json.Unmarshal(body, &back); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if err := page.Execute(w, back); err != nil {
			log.Print(err)
		}
	})
	if err := http.ListenAndServe(os.Args[1], nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
