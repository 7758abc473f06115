// Package deploy writes a collector setting as the files that put it into force:
// a shell wrapper, a systemd drop-in, lines of a Dockerfile, an override for
// Compose, a strategic-merge patch for Kubernetes, values for a Helm chart and a
// task for Nomad.
//
// The container's memory is derived from the measurements, never the other way
// round: each file has GOMEMLIMIT as a figure, because setting it to the container's
// whole limit would leave nothing for memory that the runtime does not count.
//
// The functions only compute; none writes to a disk. test/manifests gives every
// file to a real parser of its format.
package deploy

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A Setting is what to put into force. Each file sets all of it, so it overrides
// whatever was set before.
type Setting struct {
	Name       string  // of the container, service or unit; "" for app
	Percent    int     // GOGC: -1 for off, otherwise 1 or more
	LimitBytes int64   // GOMEMLIMIT; 0 for none, which GOGC=off refuses
	Unlimit    bool    // a GOMEMLIMIT is in force today, and LimitBytes is 0
	PeakBytes  int64   // most resident memory that was measured, of all processes; 0 if unknown
	Beside     int64   // bytes that runs occupied beside what their GOMEMLIMIT bounds, such as mmap; 0 if unknown
	Processes  int     // that run at once; LimitBytes applies to each. 0 for one
	CPUs       float64 // of the container, as a CPU limit; 0 if unknown
	PodBytes   int64   // memory of the container that it was measured in; 0 to derive it
	Procs      int     // GOMAXPROCS; 0 leaves it to the runtime, which follows the CPU limit since Go 1.25
}

// A File is a setting in one form. Comments in Text say where it goes.
type File struct {
	Form string // for people: "Kubernetes"
	Name string // of the file: "kubernetes.yaml"
	Text string
}

const mib = 1 << 20

// leastHeadroom is what even a small container needs above the measured memory.
const leastHeadroom = 16 * mib

// Pod returns the memory of a container in whole MiB: request is what the program occupies, limit
// adds headroom. Both are 0 if nothing is known about the program's memory.
//
// With a GOMEMLIMIT the limit leaves a tenth as headroom: the runtime's limit is soft, and counts
// neither the program's text nor memory from C or mmap. Without a GOMEMLIMIT the heap follows
// live data, so it leaves a quarter. The headroom is at least 16 MiB. A container that the
// setting was measured in keeps its size.
func (s Setting) Pod() (request, limit int64) {
	if s.PodBytes > 0 {
		n := (s.PodBytes + mib - 1) / mib * mib
		return n, n
	}
	used := max(s.allowed(), s.PeakBytes)
	if used <= 0 {
		return 0, 0
	}
	parts := int64(9)
	if s.LimitBytes == 0 {
		parts = 3
	}
	up := func(n int64) int64 { return (n + mib - 1) / mib * mib }
	return up(used), up(used + max(used/parts, leastHeadroom))
}

// allowed returns what all processes together may occupy under the GOMEMLIMIT; 0 without one.
func (s Setting) allowed() int64 {
	if s.LimitBytes == 0 {
		return 0
	}
	return s.LimitBytes*int64(max(s.Processes, 1)) + s.Beside
}

// Headroom explains the memory of the container in a sentence; "" if nothing is known about it.
func (s Setting) Headroom() string {
	request, limit := s.Pod()
	switch {
	case limit == 0:
		return ""
	case s.PodBytes > 0:
		return fmt.Sprintf("memory: %d MiB, the container that it was measured in", limit/mib)
	}
	why := "live data may grow by that much"
	if s.LimitBytes > 0 {
		why = "the limit is soft and leaves out text, cgo, mmap"
	}
	what := "measured peak"
	if s.allowed() > s.PeakBytes {
		what = "GOMEMLIMIT"
		if s.Processes > 1 {
			what = fmt.Sprintf("%d processes, each with GOMEMLIMIT", s.Processes)
		}
		// Rounded up with their sum.
		if beside := (request - s.LimitBytes*int64(max(s.Processes, 1))) / mib; beside > 0 {
			what += fmt.Sprintf(", and %d MiB that it does not bound", beside)
		}
	}
	return fmt.Sprintf("memory: %d MiB (%s) and %d MiB of headroom: %s", request/mib, what, (limit-request)/mib, why)
}

// A pair is an environment variable.
type pair struct{ Name, Value string }

func (s Setting) env() []pair {
	out := []pair{{"GOGC", cell.GC{Percent: s.Percent}.GOGC()}}
	switch {
	case s.LimitBytes > 0:
		out = append(out, pair{"GOMEMLIMIT", cell.FormatBytes(s.LimitBytes)})
	case s.Unlimit:
		out = append(out, pair{"GOMEMLIMIT", "off"})
	}
	if s.Procs > 0 {
		out = append(out, pair{"GOMAXPROCS", strconv.Itoa(s.Procs)})
	}
	return out
}

// Files returns the setting in every form. It refuses to turn the collector off without a memory
// limit: nothing would bound the heap.
func Files(s Setting) ([]File, error) {
	switch {
	case s.Percent == 0 || s.Percent < -1 || s.LimitBytes < 0 || s.PeakBytes < 0 || s.PodBytes < 0 || s.CPUs < 0 ||
		s.Procs < 0:
		return nil, fmt.Errorf("deploy: %+v: want GOGC as -1 or from 1, and no negative figure", s)
	case s.Percent < 0 && s.LimitBytes == 0:
		return nil, errors.New("deploy: GOGC=off without GOMEMLIMIT: nothing bounds the heap; set LimitBytes")
	}
	s.Name = label(s.Name)
	request, limit := s.Pod()
	p := page{s, s.env(), request / mib, limit / mib}
	files := make([]File, len(forms))
	for i, f := range forms {
		var b strings.Builder
		if err := templates.ExecuteTemplate(&b, f.name+".tmpl", p); err != nil {
			return nil, fmt.Errorf("deploy: %w", err)
		}
		files[i] = File{Form: f.form, Name: f.name, Text: b.String()}
	}
	return files, nil
}

// maxLabel is the longest name that Kubernetes accepts for a container.
const maxLabel = 63

// label turns the name or path of a program into a DNS label (RFC 1123), which
// is a valid name in every form.
func label(name string) string {
	name = strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.TrimSuffix(name, ".exe"))
	name = strings.Trim(name, "-")
	name = strings.TrimRight(name[:min(len(name), maxLabel)], "-")
	if name == "" {
		return "app"
	}
	return name
}
