// Command jsontrip encodes and decodes documents.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
)

type item struct {
	ID    int               `json:"id"`
	Name  string            `json:"name"`
	Tags  []string          `json:"tags"`
	Attrs map[string]string `json:"attrs"`
}

func document(n int) []item {
	items := make([]item, n)
	for i := range items {
		items[i] = item{i, "item " + strconv.Itoa(i), []string{"a", "b", strconv.Itoa(i % 7)}, map[string]string{"colour": "red", "size": strconv.Itoa(i)}}
	}
	return items
}

func main() {
	rounds := 80
	if len(os.Args) > 1 {
		rounds, _ = strconv.Atoi(os.Args[1])
	}
	base := document(20_000)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for range rounds {
				data, err := json.Marshal(base[:2000])
				if err != nil {
					panic(err)
				}
				var back []item
				if err := json.Unmarshal(data, &back); err != nil || len(back) != 2000 {
					panic(err)
				}
			}
		})
	}
	group.Wait()
	fmt.Println(len(base))
}
