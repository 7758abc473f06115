package main

import (
	"os/exec"
	"strings"
	"sync"
)

var goEnvOnce = sync.OnceValue(func() map[string]string {
	names := []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return nil
	}
	values := map[string]string{}
	for i, line := range strings.SplitN(string(out), "\n", len(names)+1)[:len(names)] {
		values[names[i]] = line
	}
	return values
})

// goEnv is what 'go env NAME' prints.
func goEnv(name string) string { return goEnvOnce()[name] }
