package workload

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// plainTools returns an addition to the environment of a program, empty except for the go
// command. The go command stores its compiler's output in the build cache and prints it again in
// later builds, so its tools must not write gctrace lines: they get the user's own GODEBUG. A
// -toolexec of the user stays.
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
