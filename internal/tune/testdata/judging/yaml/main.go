// Command yaml reads a JSON document and writes it as YAML.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/goccy/go-yaml"
)

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var document any
	if err := yaml.Unmarshal(data, &document); err != nil {
		log.Fatal(err)
	}
	out, err := yaml.Marshal(document)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(out))
}
