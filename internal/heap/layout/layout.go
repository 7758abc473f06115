// Package layout has the offsets of fields in structs of Go's runtime that a reader of foreign
// memory needs, for each minor version of Go and architecture. This package's test writes one
// file per version under facts, from the DWARF of a program built with that version.
package layout

import (
	"embed"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// ErrUnknown is wrapped in the error for a version or architecture without facts.
var ErrUnknown = errors.New("no layout facts")

//go:embed facts/*.txt
var files embed.FS

// Facts maps a path such as "runtime.mspan.startAddr" to its offset in bytes from the start of
// the path's first struct. A path that ends in "[]" maps to the stride of an array, one that ends
// in "#" to the size of the struct or field.
type Facts map[string]uint64

// waitReason begins the names of the runtime's wait reasons.
const waitReason = "runtime.waitReason"

// reasons are the wait reasons of a program's own goroutines, with their names in tracebacks.
var reasons = map[string]string{
	"IOWait": "IO wait", "Sleep": "sleep", "Semacquire": "semacquire", "Coroutine": "coroutine",
	"ChanReceiveNilChan": "chan receive (nil chan)", "ChanSendNilChan": "chan send (nil chan)",
	"SelectNoCases": "select (no cases)", "Select": "select", "ChanReceive": "chan receive", "ChanSend": "chan send",
	"SyncCondWait": "sync.Cond.Wait", "SyncMutexLock": "sync.Mutex.Lock", "SyncRWMutexRLock": "sync.RWMutex.RLock",
	"SyncRWMutexLock": "sync.RWMutex.Lock", "SyncWaitGroupWait": "sync.WaitGroup.Wait",
}

// WaitReasons maps the runtime's numbers of wait reasons to their names.
func (f Facts) WaitReasons() map[uint8]string {
	all := make(map[uint8]string)
	for name, text := range reasons {
		if n, ok := f[waitReason+name]; ok {
			all[uint8(n)] = text
		}
	}
	return all
}

// Of returns the facts of a Go version ("go1.26.8") on an architecture ("amd64"). Its error wraps
// ErrUnknown if there are none.
func Of(goVersion, arch string) (Facts, error) {
	release, _, _ := strings.Cut(goVersion, " ") // experiments follow
	lang := version.Lang(release)
	data, err := files.ReadFile("facts/" + lang + ".txt")
	if err != nil || lang == "" {
		return nil, fmt.Errorf("layout: %s: %w; there are those of %s", goVersion, ErrUnknown, strings.Join(Versions(), ", "))
	}
	f, err := parse(string(data), arch)
	if err == nil && len(f) == 0 {
		err = fmt.Errorf("layout: %s on %s: %w", goVersion, arch, ErrUnknown)
	}
	return f, err
}

// Versions returns the minor versions that have facts, oldest first.
func Versions() []string {
	names, _ := fs.Glob(files, "facts/*.txt")
	for i, name := range names {
		names[i] = strings.TrimSuffix(strings.TrimPrefix(name, "facts/"), ".txt")
	}
	slices.SortFunc(names, version.Compare)
	return names
}

// parse reads lines of architecture, path and number.
func parse(text, arch string) (Facts, error) {
	f := make(Facts)
	for line := range strings.Lines(text) {
		part := strings.Fields(line)
		if len(part) != 3 {
			return nil, fmt.Errorf("layout: facts: %q: want ARCH PATH NUMBER", line)
		}
		n, err := strconv.ParseUint(part[2], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("layout: facts: %q: %w", line, err)
		}
		if part[0] == arch {
			f[part[1]] = n
		}
	}
	return f, nil
}
