// Command shelf answers queries in GraphQL about books and who wrote them.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/graphql-go/graphql"
)

type author struct {
	Name string
	Born int
}

type book struct {
	ID     int
	Title  string
	Author author
	Tags   []string
}

func main() {
	var books []book
	for i := range 4000 {
		books = append(books, book{i, fmt.Sprintf("title %d", i), author{fmt.Sprintf("author %d", i%300), 1900 + i%100},
			[]string{fmt.Sprintf("tag %d", i%17), fmt.Sprintf("shelf %d", i%40)}})
	}
	person := graphql.NewObject(graphql.ObjectConfig{Name: "Author", Fields: graphql.Fields{
		"name": &graphql.Field{Type: graphql.String}, "born": &graphql.Field{Type: graphql.Int}}})
	kind := graphql.NewObject(graphql.ObjectConfig{Name: "Book", Fields: graphql.Fields{
		"id": &graphql.Field{Type: graphql.Int}, "title": &graphql.Field{Type: graphql.String},
		"author": &graphql.Field{Type: person}, "tags": &graphql.Field{Type: graphql.NewList(graphql.String)}}})
	query := graphql.NewObject(graphql.ObjectConfig{Name: "Query", Fields: graphql.Fields{"books": &graphql.Field{
		Type: graphql.NewList(kind), Args: graphql.FieldConfigArgument{"from": &graphql.ArgumentConfig{Type: graphql.Int}},
		Resolve: func(p graphql.ResolveParams) (any, error) {
			from, _ := p.Args["from"].(int)
			return books[from : from+40], nil
		}}}})
	schema, err := graphql.NewSchema(graphql.SchemaConfig{Query: query})
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/query", func(w http.ResponseWriter, r *http.Request) {
		result := graphql.Do(graphql.Params{Schema: schema, Context: r.Context(),
			RequestString: "{ books(from: 120) { id title tags author { name born } } }"})
		if result.HasErrors() {
			http.Error(w, fmt.Sprint(result.Errors), http.StatusInternalServerError)
			return
		}
		if err := json.NewEncoder(w).Encode(result); err != nil {
			log.Print(err)
		}
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
