// Command cache keeps a table of values and replaces them at random.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
)

type entry struct {
	key   string
	value []byte
	next  *entry
}

func main() {
	steps := 1_500_000
	if len(os.Args) > 1 {
		steps, _ = strconv.Atoi(os.Args[1])
	}
	rng := rand.New(rand.NewPCG(1, 2))
	table := make(map[string]*entry, 100_000)
	hits := 0
	for i := range steps {
		key := strconv.Itoa(rng.IntN(200_000))
		if e, ok := table[key]; ok && i%3 != 0 {
			hits++
			e.value[0]++
			continue
		}
		if len(table) >= 150_000 {
			for victim := range table {
				delete(table, victim)
				break
			}
		}
		table[key] = &entry{key: key, value: make([]byte, 64+rng.IntN(512))}
	}
	fmt.Println(hits, len(table))
}
