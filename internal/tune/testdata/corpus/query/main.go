// Command query groups and sums orders in jq's language, over and over.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/itchyny/gojq"
)

const source = `[.[] | {buyer, sum: ([.lines[] | .n * .price] | add)}] | group_by(.buyer) |
	map({buyer: .[0].buyer, sum: (map(.sum) | add)}) | sort_by(-.sum) | length`

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var document any
	if err := json.Unmarshal(data, &document); err != nil {
		log.Fatal(err)
	}
	query, err := gojq.Parse(source)
	if err != nil {
		log.Fatal(err)
	}
	for range 30 {
		v, _ := query.Run(document).Next()
		fmt.Println(v)
	}
}
