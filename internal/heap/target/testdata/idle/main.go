// Idle waits for a timer, and for its standard input in its first thread.
package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	time.AfterFunc(time.Hour, func() {})
	fmt.Println("started")
	io.Copy(io.Discard, os.Stdin)
}
