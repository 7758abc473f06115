package heap

import (
	"context"
	"runtime/debug"

	"github.com/isobar-go/isobar/internal/heap/gotype"
	"github.com/isobar-go/isobar/internal/heap/graph"
	"github.com/isobar-go/isobar/internal/heap/image"
	"github.com/isobar-go/isobar/internal/heap/target"
)

// A Root is a place outside of the heap that may hold objects.
type Root struct {
	Kind   image.Kind
	Name   string   // of a variable
	Frames []string // of the goroutine, innermost first
	Start  string   // the goroutine's first function
}

// An Object is an allocation that the process's own memory profile sampled.
type Object struct {
	Bytes uint64       // of its slot
	Stack []uint64     // return addresses at its allocation, innermost first
	Live  bool         // it is reachable
	Root  Root         // that holds it
	Way   []graph.Step // references from the root to the object
}

// Made returns the sampled objects of a process's memory profile that are not yet
// freed, with their holders. If several roots hold one, the root to which rank gives
// the lowest number wins; numbers are 0 to 7.
func Made(ctx context.Context, p *target.Process, rank func(Root) int) ([]Object, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(collectAt))
	im, err := image.Read(ctx, source(p), image.Config{})
	if err != nil {
		return nil, err
	}
	defer im.Release()
	root := func(kind image.Kind, name string, g int32) Root {
		r := Root{Kind: kind, Name: name}
		if g >= 0 {
			r.Frames, r.Start = im.Goroutines[g].Frames, im.Goroutines[g].Start
		}
		return r
	}
	g, err := graph.Mark(ctx, im, gotype.NewTable(im), nil, func(r *image.Root, name string) int {
		return rank(root(r.Kind, name, r.G))
	})
	if err != nil {
		return nil, err
	}
	var all []Object
	for _, s := range im.Sampled {
		o := Object{Stack: im.Stack(s)}
		if span := im.Span(s.Object); span != nil {
			o.Bytes = span.Elem
		}
		if kind, name, n, way, ok := g.Way(s.Object); ok {
			o.Live, o.Root, o.Way = true, root(kind, name, n), way
		}
		all = append(all, o)
	}
	return all, nil
}
