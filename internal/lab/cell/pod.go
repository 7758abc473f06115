package cell

import (
	"fmt"
	"strconv"
	"strings"
)

// A Pod is the limits of a program's control group, like those of a container.
// The zero Pod means no control group; a zero field means no bound.
type Pod struct {
	CPUs        float64 `json:"cpus,omitempty"`         // quota, 0.01 or more
	MemoryBytes int64   `json:"memory_bytes,omitempty"` // with page cache, without swap
}

// leastCPUs is the smallest quota that the kernel accepts.
const leastCPUs = 0.01

// NewPod reads the two sizes: a number of CPUs and a size such as 64MiB, each ""
// or none for no bound.
func NewPod(cpus, memory string) (Pod, error) {
	var p Pod
	var err error
	if cpus != "" && cpus != "none" {
		if p.CPUs, err = strconv.ParseFloat(cpus, 64); err != nil || !(p.CPUs >= leastCPUs && p.CPUs <= 4096) {
			return Pod{}, fmt.Errorf("cell: CPUs %q: want a number from 0.01 to 4096, or none", cpus)
		}
	}
	if memory != "" && memory != "none" {
		if p.MemoryBytes, err = ParseSize(memory); err != nil {
			return Pod{}, fmt.Errorf("cell: memory %q: want a size with its unit, such as 64MiB, or none", memory)
		}
	}
	return p, nil
}

// ParsePod is the inverse of Pod.String.
func ParsePod(s string) (Pod, error) {
	cpus, memory, _ := strings.Cut(s, ":")
	return NewPod(cpus, memory)
}

// String returns CPUS:MEMORY, such as 0.5:64MiB, 2 or none:64MiB; "none" for the zero Pod.
func (p Pod) String() string {
	s := "none"
	if p.CPUs > 0 {
		s = strconv.FormatFloat(p.CPUs, 'f', -1, 64)
	}
	if p.MemoryBytes > 0 {
		s += ":" + FormatBytes(p.MemoryBytes)
	}
	return s
}
