// Command search answers searches of texts that it indexed when it started.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/blevesearch/bleve/v2"
)

func main() {
	index, err := bleve.NewMemOnly(bleve.NewIndexMapping())
	if err != nil {
		log.Fatal(err)
	}
	batch := index.NewBatch()
	for i := range 300 {
		var text strings.Builder
		for n := range 40 {
			fmt.Fprintf(&text, "word%d ", (i*i+n*n*7)%900)
		}
		if err := batch.Index(fmt.Sprint(i), map[string]any{"text": text.String(), "kind": fmt.Sprintf("kind%d", i%9)}); err != nil {
			log.Fatal(err)
		}
	}
	if err := index.Batch(batch); err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/search", func(w http.ResponseWriter, r *http.Request) {
		request := bleve.NewSearchRequest(bleve.NewMatchQuery("word7 word49 word200 kind3"))
		request.Size, request.Fields = 30, []string{"text", "kind"}
		result, err := index.SearchInContext(r.Context(), request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if err := json.NewEncoder(w).Encode(result); err != nil {
			log.Print(err)
		}
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
