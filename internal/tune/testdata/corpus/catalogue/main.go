// Command catalogue answers a GraphQL query.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/graphql-go/graphql"
)

type book struct {
	Title   string `json:"title"`
	Pages   int    `json:"pages"`
	Authors []string
}

func main() {
	var shelf []book
	for i := range 40 {
		shelf = append(shelf, book{fmt.Sprintf("Volume %d", i), 100 + i, []string{fmt.Sprint("author ", i%7), "editor"}})
	}
	item := graphql.NewObject(graphql.ObjectConfig{Name: "Book", Fields: graphql.Fields{
		"title": &graphql.Field{Type: graphql.String},
		"pages": &graphql.Field{Type: graphql.Int},
		"authors": &graphql.Field{Type: graphql.NewList(graphql.String),
			Resolve: func(p graphql.ResolveParams) (any, error) { return p.Source.(book).Authors, nil }},
	}})
	schema, err := graphql.NewSchema(graphql.SchemaConfig{Query: graphql.NewObject(graphql.ObjectConfig{Name: "Query",
		Fields: graphql.Fields{"books": &graphql.Field{Type: graphql.NewList(item),
			Resolve: func(graphql.ResolveParams) (any, error) { return shelf, nil }}}})})
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/books", func(w http.ResponseWriter, r *http.Request) {
		result := graphql.Do(graphql.Params{Schema: schema, RequestString: "{ books { title pages authors } }"})
		if result.HasErrors() {
			http.Error(w, fmt.Sprint(result.Errors), http.StatusInternalServerError)
			return
		}
		json.NewEncoder(w).Encode(result)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
