// Command words splits, counts and sorts the words of generated text: its
// live heap grows as it runs.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
	"strconv"
	"strings"
)

func main() {
	lines := 200_000
	if len(os.Args) > 1 {
		lines, _ = strconv.Atoi(os.Args[1])
	}
	rng := rand.New(rand.NewPCG(3, 4))
	counts := map[string]int{}
	index := map[string][]int{}
	for n := range lines {
		var b strings.Builder
		for range 12 {
			b.WriteString("w" + strconv.FormatInt(int64(rng.IntN(1+n/2+1000)), 36) + " ")
		}
		for _, word := range strings.Fields(b.String()) {
			counts[word]++
			index[strings.ToUpper(word)] = append(index[strings.ToUpper(word)], n)
		}
	}
	words := make([]string, 0, len(counts))
	for w := range counts {
		words = append(words, w)
	}
	sort.Strings(words)
	fmt.Println(len(words), len(index))
}
