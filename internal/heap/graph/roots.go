package graph

import (
	"cmp"
	"debug/elf"
	"fmt"
	"reflect"
	"slices"
	"sort"

	"github.com/isobar-go/isobar/internal/heap/gotype"
	"github.com/isobar-go/isobar/internal/heap/image"
)

// root returns the number of a root node.
func (g *Graph) root(n rootNode) uint32 { return number(g.rootIDs, &g.roots, n) }

// number returns the place of a value in all, where a new one goes last.
func number[T comparable](places map[T]uint32, all *[]T, v T) uint32 {
	place, ok := places[v]
	if !ok {
		place = uint32(len(*all))
		places[v] = place
		*all = append(*all, v)
	}
	return place
}

// nameRoots numbers all root nodes before marking, so that none is added later.
func (g *Graph) nameRoots() {
	g.variables = g.literals(merge(g.variables, g.symbols()))
	for i := range g.im.Roots {
		g.rootOf(&g.im.Roots[i])
	}
	g.root(rootNode{kind: image.Finalizer, name: "objects with a finalizer", g: -1})
}

// symbols takes the variables' names from the symbol table, if there is one.
func (g *Graph) symbols() []gotype.Variable {
	symbols, err := g.im.Program.ELF.Symbols()
	if err != nil {
		return nil
	}
	var all []gotype.Variable
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_OBJECT && s.Size > 0 {
			all = append(all, gotype.Variable{Name: s.Name, Addr: s.Value + g.im.Program.Bias, Size: s.Size})
		}
	}
	slices.SortFunc(all, byAddress)
	return all
}

// merge adds the variables of b that begin in none of a. Both are sorted by address.
func merge(a, b []gotype.Variable) []gotype.Variable {
	if len(a) == 0 {
		return b
	}
	all := slices.Clone(a)
	for _, v := range b {
		if find(a, v.Addr) == nil {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, byAddress)
	return all
}

func byAddress(a, b gotype.Variable) int { return cmp.Compare(a.Addr, b.Addr) }

// find returns the variable that contains an address, or nil.
func find(all []gotype.Variable, addr uint64) *gotype.Variable {
	i := sort.Search(len(all), func(i int) bool { return all[i].Addr > addr }) - 1
	if i < 0 || addr-all[i].Addr >= all[i].Size {
		return nil
	}
	return &all[i]
}

// literals names the targets of variables that are globals themselves: in var server
// = &Server{}, the Server has no name. Nor has it if server is an interface.
func (g *Graph) literals(all []gotype.Variable) []gotype.Variable {
	seen := make(map[uint64]bool)
	var found []gotype.Variable
	for queue := all; len(queue) > 0; {
		v := queue[0]
		queue = queue[1:]
		if v.Type == nil || v.Size > 1<<20 {
			continue
		}
		for _, w := range v.Type.Words() {
			b, ok := g.im.Global(v.Addr + w.Offset)
			if !ok || seen[b] {
				continue
			}
			if _, ok := g.im.Global(b); !ok {
				continue
			}
			to := g.target(w, v.Addr+w.Offset, b)
			if to.form != value {
				continue
			}
			if known := find(all, b); known != nil && known.Type != nil {
				continue
			}
			seen[b] = true
			size, path := to.t.Size, w.Path
			if w.Type.Kind == reflect.Slice {
				n, _ := g.im.Global(v.Addr + w.Offset + 16)
				size, path = min(n, 1<<20)*to.t.Size, path+"[]"
				to.t = &gotype.Type{Kind: reflect.Array, Elem: to.t, Len: min(n, 1<<12), Size: size}
			}
			next := gotype.Variable{Name: v.Name + path, Addr: b, Size: size, Type: to.t}
			found = append(found, next)
			queue = append(queue, next)
		}
	}
	slices.SortFunc(found, byAddress)
	return merge(found, all)
}

// variable returns the variable that contains an address; nil if unknown.
func (g *Graph) variable(addr uint64) *gotype.Variable { return find(g.variables, addr) }

// rootOf returns the number of a root's node.
func (g *Graph) rootOf(r *image.Root) uint32 {
	n := rootNode{kind: r.Kind, g: -1}
	switch r.Kind {
	case image.Global:
		n.name = fmt.Sprintf("global at %#x", r.Addr)
		if v := g.variable(r.Addr); v != nil {
			n.name = v.Name
		}
	case image.Stack:
		n.name, n.g = "goroutine "+g.im.Goroutines[r.G].Start, r.G
	case image.Finalizer:
		n.name = "finalizers and cleanups"
	case image.Weak:
		n.name = "weak pointers' handles"
	case image.Register:
		n.name = "registers"
	}
	return g.root(n)
}

// rootShape returns the shape of what a root points to, and the path from the root's
// node to the word.
func (g *Graph) rootShape(r *image.Root) (shape, string) {
	switch {
	case r.Kind == image.Stack && r.Func != "":
		return shape{}, " in " + r.Func
	case r.Kind == image.Finalizer && r.Func != "":
		return shape{}, " of " + r.Func
	case r.Kind != image.Global:
		return shape{}, ""
	}
	w, ok := g.rootWord(r)
	if !ok {
		before, _ := g.im.Word(r.Addr - 8) // the type of an interface
		return g.hint(before, r.To), ""
	}
	path := w.Path
	if v := g.variable(r.Addr); w.Type.To(v.Type) {
		path = "" // as in a value inside of another
	}
	return g.target(w, r.Addr, r.To), path
}

// target returns the shape of what a variable's word at addr points to.
func (g *Graph) target(w gotype.Word, addr, to uint64) shape {
	before := uint64(0)
	if w.Offset > 0 {
		before, _ = g.im.Word(addr - 8) // the type of an interface
	}
	return g.dynamic(nil, word{known: true, t: w.Type, to: pointee(w.Type)}, nil, before, to)
}

// rootWord returns the word of a variable that the root is; ok is false if the type is unknown.
func (g *Graph) rootWord(r *image.Root) (gotype.Word, bool) {
	if r.Kind != image.Global {
		return gotype.Word{}, false
	}
	v := g.variable(r.Addr)
	if v == nil || v.Type == nil {
		return gotype.Word{}, false
	}
	words := v.Type.Words()
	i, ok := slices.BinarySearchFunc(words, r.Addr-v.Addr, func(w gotype.Word, offset uint64) int {
		return cmp.Compare(w.Offset, offset)
	})
	if !ok {
		return gotype.Word{}, false
	}
	return words[i], true
}
