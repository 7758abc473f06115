package tune

import (
	"os"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/runner"
)

// TestMain runs the test binary as the child that measures cells, if asked.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == runner.ChildArg {
		os.Exit(runner.Child(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
