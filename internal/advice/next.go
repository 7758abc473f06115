package advice

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"strings"
)

// A Step is what to do next, and the command for it.
type Step struct {
	Text    string `json:"text"`
	Command string `json:"command"`
}

// next says how to take a profile of the packages: of their benchmarks, a server, or their tests.
func next(c Config, units []*unit) (steps []Step) {
	patterns := cmp.Or(strings.Join(c.Patterns, " "), ".")
	benchmarks, tests, pprof, server := "", "", false, false
	for _, u := range units {
		_, serves := u.Imports["net/http"]
		_, profiles := u.Imports["net/http/pprof"]
		server, pprof = server || serves, pprof || profiles
		files, _ := filepath.Glob(filepath.Join(u.Dir, "*_test.go")) // the pattern is well formed
		for _, name := range files {
			src, err := os.ReadFile(name)
			if err != nil {
				continue
			}
			tests = cmp.Or(tests, u.PkgPath)
			if benchmarks == "" && bytes.Contains(src, []byte("\nfunc Benchmark")) {
				benchmarks = u.PkgPath
			}
		}
	}
	if benchmarks != "" {
		steps = append(steps, Step{"profile the benchmarks", "isobar advise --bench . " + patterns})
	}
	if server || pprof {
		text := "profile the running server"
		if !pprof {
			text += `, which has to import _ "net/http/pprof" and serve it`
		}
		steps = append(steps, Step{text, "isobar advise --profile http://localhost:6060/debug/pprof/ " + patterns})
	}
	if len(steps) == 0 && tests != "" {
		steps = append(steps, Step{"profile the tests, as there are no benchmarks",
			"go test -memprofile mem.pb.gz -memprofilerate 16384 " + tests +
				" && isobar advise --profile mem.pb.gz " + patterns})
	}
	if len(steps) == 0 {
		steps = append(steps, Step{"write a benchmark of what has to be fast, and profile it", "isobar advise --bench . " +
			patterns})
	}
	return steps
}
