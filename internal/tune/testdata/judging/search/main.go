// Command search answers full-text queries over documents in memory.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
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
	rng := rand.New(rand.NewPCG(1, 1))
	batch := index.NewBatch()
	for id := range 1500 {
		var b strings.Builder
		for range 40 {
			fmt.Fprintf(&b, "word%d ", int(rng.ExpFloat64()*300))
		}
		if err := batch.Index(fmt.Sprint(id), map[string]string{"body": b.String()}); err != nil {
			log.Fatal(err)
		}
	}
	if err := index.Batch(batch); err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		result, err := index.Search(bleve.NewSearchRequest(bleve.NewMatchQuery(r.URL.Query().Get("q"))))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		json.NewEncoder(w).Encode(result)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
