// Command revisions compares the versions of a text, and patches one into the next.
package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

func main() {
	rng := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the quick brown fox jumps over a lazy dog while nobody in this old town looks up from the paper")
	lines := make([]string, 300)
	for i := range lines {
		for range 9 {
			lines[i] += words[rng.IntN(len(words))] + " "
		}
	}
	d := diffmatchpatch.New()
	text, total := strings.Join(lines, "\n"), 0
	for range 400 {
		for range 12 {
			i := rng.IntN(len(lines))
			lines[i] = strings.Replace(lines[i], words[rng.IntN(len(words))], words[rng.IntN(len(words))], 1)
		}
		next := strings.Join(lines, "\n")
		from, to, unique := d.DiffLinesToChars(text, next)
		diffs := d.DiffCharsToLines(d.DiffMain(from, to, false), unique)
		patches := d.PatchMake(text, diffs)
		read, err := d.PatchFromText(d.PatchToText(patches))
		if err != nil {
			log.Fatal(err)
		}
		patched, _ := d.PatchApply(read, text)
		if patched != next {
			log.Fatal("a patch does not give the next version")
		}
		total += len(patches)
		text = next
	}
	fmt.Println(total)
}
