package fleet

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Kinds of work that a worker's operator may allow.
const (
	KindLab  = "lab"  // the lab's own workloads
	KindExec = "exec" // programs that travel with the cells
)

// A Requirement says which workers may run the blocks of a sweep. It travels as
// metadata of the sweep's consumer, where workers read it.
type Requirement struct {
	// Kind is KindLab, or KindExec if some cell runs a program.
	Kind string `json:"kind"`
	// Version of isobar: records from different versions are not compared.
	Version string `json:"version"`
	// Platforms (OS/ARCH) that the programs were built for; empty means any.
	Platforms []string `json:"platforms,omitempty"`
	// Labels that the worker must have, as KEY=PATTERN (see path.Match) or
	// KEY>=NUMBER.
	Labels []string `json:"labels,omitempty"`
}

// metadataKey is where a consumer keeps its Requirement.
const metadataKey = "isobar-requires"

func (r Requirement) metadata() map[string]string {
	doc, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings only
	}
	return map[string]string{metadataKey: string(doc)}
}

func parseRequirement(metadata map[string]string) (Requirement, error) {
	var r Requirement
	err := decodeStrict(strings.NewReader(metadata[metadataKey]), &r)
	return r, err
}

// CheckLabels reports the first malformed label requirement.
func CheckLabels(labels []string) error {
	for _, label := range labels {
		if _, _, _, err := parseLabel(label); err != nil {
			return err
		}
	}
	return nil
}

// parseLabel splits KEY=PATTERN or KEY>=NUMBER.
func parseLabel(s string) (key, pattern string, least float64, err error) {
	key, pattern, ok := strings.Cut(s, "=")
	if !ok || key == "" || key == ">" {
		return "", "", 0, fmt.Errorf("%q: want KEY=PATTERN or KEY>=NUMBER", s)
	}
	if name, numeric := strings.CutSuffix(key, ">"); numeric {
		if least, err = strconv.ParseFloat(pattern, 64); err != nil {
			return "", "", 0, fmt.Errorf("%q: want KEY>=NUMBER", s)
		}
		return name, "", least, nil
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return "", "", 0, fmt.Errorf("%q: %w", s, err)
	}
	return key, pattern, 0, nil
}

// unmet says why a worker does not qualify; "" if it does.
func (r Requirement) unmet(w *Member) string {
	switch {
	case !slices.Contains(w.Allow, r.Kind):
		return "its operator does not allow " + r.Kind
	case r.Version != w.Machine.Isobar:
		return fmt.Sprintf("isobar %s, not %s", w.Machine.Isobar, r.Version)
	case len(r.Platforms) > 0 && !slices.Contains(r.Platforms, w.platform()):
		return "no program for " + w.platform()
	}
	for _, s := range r.Labels {
		key, pattern, least, err := parseLabel(s)
		value, has := w.Labels[key]
		if err != nil || !has {
			return "it has no label for " + s
		}
		if pattern == "" && strings.Contains(s, ">=") {
			if n, err := strconv.ParseFloat(value, 64); err != nil || n < least {
				return key + "=" + value + ", not " + s
			}
		} else if ok, _ := path.Match(pattern, value); !ok {
			return key + "=" + value + ", not " + s
		}
	}
	return ""
}
