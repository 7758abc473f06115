// Command format parses and prints Go source over and over, as gofmt does.
package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

func main() {
	rounds := 8
	if len(os.Args) > 1 {
		rounds, _ = strconv.Atoi(os.Args[1])
	}
	files, _ := filepath.Glob(filepath.Join(runtime.GOROOT(), "src", "net", "http", "*.go"))
	total := 0
	for range rounds {
		for _, name := range files {
			source, err := os.ReadFile(name)
			if err != nil {
				panic(err)
			}
			out, err := format.Source(source)
			if err != nil {
				panic(err)
			}
			total += len(out)
		}
	}
	fmt.Println(total)
}
