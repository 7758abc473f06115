package workload

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// plainTools is an addition to the environment of a program, empty except for the go
// command. That one keeps what its compiler prints in the build cache and prints it
// again in later builds of the user's: its tools must not write gctrace lines. They
// get the GODEBUG that the user has. A -toolexec of the user's own stays.
func plainTools(program string) []string {
	if filepath.Base(program) != "go" || runtime.GOOS == "windows" {
		return nil
	}
	if info, err := buildinfo.ReadFile(program); err != nil || info.Path != "cmd/go" {
		return nil
	}
	flags, err := exec.Command(program, "env", "GOFLAGS").Output()
	godebug := os.Getenv("GODEBUG")
	if err != nil || strings.Contains(string(flags), "-toolexec") || strings.ContainsAny(godebug, "' \t\n") {
		return nil
	}
	return []string{"GOFLAGS=" + strings.TrimSpace(string(flags)+" '-toolexec=env GODEBUG="+godebug+"'")}
}
