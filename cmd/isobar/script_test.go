package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/isobar-go/isobar/internal/base/cgroup"
	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/runner"
)

// TestMain lets the test binary act as isobar, in scripts and as the lab's child process. A
// test's child runs under the binary's own name and must not run the tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == runner.ChildArg {
		os.Exit(runner.Child(os.Stdin, os.Stdout, os.Stderr))
	}
	testscript.Main(m, map[string]func(){
		"isobar": func() { os.Exit(realMain()) },
	})
}

// condition knows [pods]: this machine lets us create the control groups that scripts need; and
// [nopods]: it lets us create none. A machine that allows only groups below 2 CPUs satisfies neither.
func condition(name string) (bool, error) {
	cpus, ok := map[string]float64{"pods": 2, "nopods": 0.5}[name]
	if !ok {
		return false, fmt.Errorf("unknown condition %s", name)
	}
	g, err := cgroup.New("/", cgroup.Bounds{CPUs: cpus, MemoryBytes: 1 << 30})
	if err != nil {
		return name == "nopods", nil
	}
	return name == "pods", g.Remove()
}

func TestScripts(t *testing.T) {
	if invariant.Race {
		t.Skip("scripts measure and build, which takes minutes in a race build; they run without -race")
	}
	testscript.Run(t, testscript.Params{
		Dir:       "testdata/script",
		Condition: condition,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_DATA_HOME", env.WorkDir+"/data")
			env.Setenv("XDG_CACHE_HOME", env.WorkDir+"/cache")
			// Programs built by scripts need the caches of the real home directory.
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY"} {
				env.Setenv(name, goEnv(name))
			}
			return nil
		},
	})
}
