// Command forms validates documents by a JSON schema.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schema = `{"type": "object", "required": ["people"], "properties": {"people": {"type": "array", "items": {
	"type": "object", "required": ["name", "age"], "properties": {"name": {"type": "string", "pattern": "^[a-z]+ [0-9]+$"},
	"age": {"type": "integer", "minimum": 0, "maximum": 150}, "tags": {"type": "array", "uniqueItems": true,
	"items": {"enum": ["red", "green", "blue"]}}}}}}}`

func main() {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		log.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("people.json", doc); err != nil {
		log.Fatal(err)
	}
	people, err := c.Compile("people.json")
	if err != nil {
		log.Fatal(err)
	}
	var all []string
	for i := range 120 {
		all = append(all, fmt.Sprintf(`{"name": "person %d", "age": %d, "tags": ["red", "blue"]}`, i, i))
	}
	text := `{"people": [` + strings.Join(all, ",") + `]}`
	http.HandleFunc("/validate", func(w http.ResponseWriter, r *http.Request) {
		form, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err == nil {
			err = people.Validate(form)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "valid")
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
