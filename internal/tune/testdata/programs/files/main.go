// Command files counts lines with collection off, and turns it on when many files are counted.
package main

import (
	"bytes"
	"runtime/debug"
)

const files, many = 600, 200

func main() {
	percent := debug.SetGCPercent(-1)
	lines := 0
	for i := range files {
		if i == many {
			debug.SetGCPercent(percent)
		}
		content := bytes.Repeat([]byte("line\n"), 50<<10) // 250 KiB
		lines += bytes.Count(content, []byte("\n"))
	}
	println(lines)
}
