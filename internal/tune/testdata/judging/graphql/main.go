// Command graphql answers queries over a tree of people.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/graphql-go/graphql"
)

type person struct {
	Name    string
	Age     int
	Friends []*person
}

func main() {
	people := make([]*person, 2000)
	for i := range people {
		people[i] = &person{Name: fmt.Sprintf("person %d", i), Age: i % 90}
	}
	for i, p := range people {
		for n := 1; n < 6; n++ {
			p.Friends = append(p.Friends, people[(i*n+7)%len(people)])
		}
	}
	kind := graphql.NewObject(graphql.ObjectConfig{Name: "Person", Fields: graphql.Fields{
		"name": {Type: graphql.String, Resolve: func(p graphql.ResolveParams) (any, error) { return p.Source.(*person).Name, nil }},
		"age":  {Type: graphql.Int, Resolve: func(p graphql.ResolveParams) (any, error) { return p.Source.(*person).Age, nil }},
	}})
	kind.AddFieldConfig("friends", &graphql.Field{Type: graphql.NewList(kind),
		Resolve: func(p graphql.ResolveParams) (any, error) { return p.Source.(*person).Friends, nil }})
	schema, err := graphql.NewSchema(graphql.SchemaConfig{Query: graphql.NewObject(graphql.ObjectConfig{Name: "Query", Fields: graphql.Fields{
		"person": {Type: kind, Args: graphql.FieldConfigArgument{"id": {Type: graphql.Int}},
			Resolve: func(p graphql.ResolveParams) (any, error) { return people[p.Args["id"].(int)%len(people)], nil }},
	}})})
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		result := graphql.Do(graphql.Params{Schema: schema, RequestString: r.URL.Query().Get("query")})
		json.NewEncoder(w).Encode(result)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
