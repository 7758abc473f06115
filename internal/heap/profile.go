package heap

import (
	"io"
	"slices"

	"github.com/google/pprof/profile"
)

// WriteProfile writes what every path retains as a profile for 'go tool pprof'. A
// sample's stack is a path with its root outermost. flat is the node's own objects,
// cum includes everything below.
func (r *Report) WriteProfile(out io.Writer) error {
	p := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "live_space", Unit: "bytes"}, {Type: "live_objects", Unit: "count"}},
		DefaultSampleType: "live_space",
		TimeNanos:         r.Time.UnixNano(),
	}
	at := make(map[string]*profile.Location)
	location := func(name string) *profile.Location {
		l := at[name]
		if l == nil {
			f := &profile.Function{ID: uint64(len(at) + 1), Name: name, SystemName: name}
			l = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
			at[name] = l
			p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		}
		return l
	}
	var walk func(n *Node, stack []*profile.Location)
	walk = func(n *Node, stack []*profile.Location) {
		stack = append([]*profile.Location{location(nameOf(n))}, stack...)
		if n.Bytes > 0 {
			p.Sample = append(p.Sample, &profile.Sample{
				Location: slices.Clone(stack), Value: []int64{int64(n.Bytes), int64(n.Objects)},
			})
		}
		for _, c := range n.Children {
			walk(c, stack)
		}
	}
	for _, c := range r.Tree.Children {
		walk(c, nil)
	}
	return p.Write(out)
}

// nameOf returns a node's step of the path and its type.
func nameOf(n *Node) string {
	name := pathOf([]*Node{n})
	if n.Type != "" && n.Label != "→" {
		name += " " + n.Type
	}
	return name
}
