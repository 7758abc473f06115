// Command isobar is the part of the command that measures a cell.
package main

import (
	"os"

	"github.com/isobar-go/isobar/internal/lab/runner"
	_ "github.com/isobar-go/isobar/internal/lab/workload"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == runner.ChildArg {
		os.Exit(runner.Child(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(2)
}
