// Command script runs a program in JavaScript: words counted, sorted and joined.
package main

import (
	"fmt"
	"log"

	"github.com/dop251/goja"
)

const source = `
var counts = {};
var seed = 1;
for (var i = 0; i < 250000; i++) {
	seed = (seed * 1103515245 + 12345) % 2147483648;
	var word = "w" + (seed % 20000).toString(36);
	counts[word] = (counts[word] || 0) + 1;
}
var list = Object.keys(counts).map(function(k) { return {word: k, n: counts[k]}; });
list.sort(function(a, b) { return b.n - a.n || (a.word < b.word ? -1 : 1); });
list.map(function(e) { return e.word + "=" + e.n; }).join(",").length;
`

func main() {
	v, err := goja.New().RunString(source)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v)
}
