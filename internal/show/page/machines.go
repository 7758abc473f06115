package page

import (
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// machinesTable describes the machines; nil if there is only one.
func machinesTable(all []*stat.Machine) *text.Table {
	if all == nil {
		return nil
	}
	t := &text.Table{Label: "Machines that measured", Left: 6,
		Head: []string{"Machine", "CPU", "System", "Kernel", "Go", "Host (digest)", "CPUs", "memory", "blocks", "cells"}}
	for _, m := range all {
		f := m.Fingerprint
		t.Add(text.Clean(m.Name), text.Clean(f.CPU), text.Clean(strings.Trim(f.OS+"/"+f.Arch, "/")), text.Clean(f.Kernel),
			text.Clean(f.GoVersion), text.Clean(f.Hostname),
			strconv.Itoa(f.CPUs), text.Bytes(float64(f.MemoryBytes)), strconv.Itoa(len(m.Blocks)), strconv.Itoa(m.Records))
	}
	return t
}
