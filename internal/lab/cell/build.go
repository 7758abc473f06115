package cell

import (
	"fmt"
	"regexp"
	"strings"
)

// A Build says how a binary is built. The zero Build is the running binary's.
type Build struct {
	Collector string // see Config
	Go        string // see Config
}

// Build returns how the binary of c is built.
func (c Config) Build() Build { return Build{c.Collector, c.Go} }

// String returns a name for b that is valid in a file name; "own" for the zero Build.
func (b Build) String() string {
	var parts []string
	if b.Collector != "" {
		parts = append(parts, b.Collector)
	}
	if b.Go != "" {
		parts = append(parts, "go"+b.Go)
	}
	if len(parts) == 0 {
		return "own"
	}
	return strings.Join(parts, "-")
}

// ParseBuild is the inverse of Build.String.
func ParseBuild(name string) Build {
	if name == "own" {
		return Build{}
	}
	collector, version, found := strings.Cut(name, "-")
	if strings.HasPrefix(collector, "go1") {
		return Build{Go: strings.TrimPrefix(collector, "go")}
	}
	if !found {
		return Build{Collector: collector}
	}
	return Build{collector, strings.TrimPrefix(version, "go")}
}

// BuildDir in a Command is replaced by the name of the cell's Build: each build of a
// program has its own directory.
const BuildDir = "{build}"

// Program returns the command of c with its Build's name in place of BuildDir.
func (c Config) Program() []string {
	if len(c.Command) == 0 || !strings.Contains(c.Command[0], BuildDir) {
		return c.Command
	}
	program := strings.ReplaceAll(c.Command[0], BuildDir, c.Build().String())
	return append([]string{program}, c.Command[1:]...)
}

var goVersion = regexp.MustCompile(`^1\.[0-9]{1,3}(\.[0-9]{1,3}|rc[0-9]{1,2})?$`)

// CheckGo returns an error unless Config.Go may hold the version.
func CheckGo(version string) error {
	if !goVersion.MatchString(version) {
		return fmt.Errorf("%q: want a Go version such as 1.27.4", version)
	}
	return nil
}
