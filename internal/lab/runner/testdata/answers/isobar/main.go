// Command isobar answers a cell as a child does, with how it was built and nothing measured.
package main

import (
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func main() {
	var c cell.Cell
	if err := cell.Decode(os.Stdin, &c); err != nil {
		os.Exit(2)
	}
	rec := cell.Record{Cell: c, Started: time.Now()}
	version, experiments, _ := strings.Cut(runtime.Version(), "X:")
	rec.GoVersion, rec.Experiments = strings.TrimRight(version, " -"), experiments
	if err := cell.Encode(os.Stdout, rec); err != nil {
		os.Exit(1)
	}
}
