// Command listings reads a list in YAML for each request, and answers with what is for sale in JSON.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"gopkg.in/yaml.v3"
)

type house struct {
	Street string            `yaml:"street"`
	Price  int               `yaml:"price"`
	Sold   bool              `yaml:"sold"`
	Rooms  map[string]string `yaml:"rooms"`
}

func main() {
	var list strings.Builder
	for i := range 25 {
		fmt.Fprintf(&list, "- street: %d Main Street\n  price: %d\n  sold: %t\n  rooms:\n", i, 100000+i*7919, i%3 == 0)
		for n := range i % 5 {
			fmt.Fprintf(&list, "    room %d: %d square metres\n", n, 10+n)
		}
		if i%5 == 0 {
			list.WriteString("    none: \"\"\n")
		}
	}
	text := []byte(list.String())
	http.HandleFunc("/houses", func(w http.ResponseWriter, r *http.Request) {
		var all, left []house
		if err := yaml.Unmarshal(text, &all); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		for _, h := range all {
			if !h.Sold {
				left = append(left, h)
			}
		}
		json.NewEncoder(w).Encode(left)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
