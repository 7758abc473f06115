package check

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

// A Caveat is what the fix of a finding asks for beyond the function it stands
// in. Findings that have one rank below all others where a profile sorts them.
type Caveat string

const (
	Interface Caveat = "needs another interface" // of what other packages call or hold, or that any value fits
)

// Needs returns a pass whose reports have the caveat, or p itself where it does
// not hold.
func (p *Pass) Needs(c Caveat, holds bool) *Pass {
	if !holds {
		return p
	}
	q := *p
	q.caveat = c
	return &q
}

// CaveatOf returns the caveat that text stands for, or "".
func CaveatOf(text string) Caveat {
	if c := Caveat(text); c == Interface {
		return c
	}
	return ""
}

// Free reports whether this package may give fn another signature: it has the
// body, other packages do not see fn, and fn is only called, not a value nor
// what an interface asks for.
func (c *Code) Free(fn *types.Func) bool {
	if _, decl := c.Decl(fn); decl == nil || c.Seen(fn) {
		return false
	}
	if fn.Signature().Recv() != nil && (fn.Exported() || c.asked[fn.Name()]) {
		return false
	}
	return !slices.ContainsFunc(c.Uses(fn), func(use inspector.Cursor) bool { return CallOf(use) == nil })
}

// FreeAround is Free for the function around cur. A literal is not free.
func (c *Code) FreeAround(cur inspector.Cursor) bool {
	f, _ := Func(cur)
	if decl, ok := f.Node().(*ast.FuncDecl); ok {
		fn, _ := c.Info.Defs[decl.Name].(*types.Func)
		return c.Free(fn)
	}
	return false
}

// Seen reports whether packages outside the module may see what obj names.
func (c *Code) Seen(obj types.Object) bool {
	return obj.Exported() && c.Pkg.Name() != "main" && !strings.Contains("/"+c.Pkg.Path()+"/", "/internal/")
}

// askedFor returns the names of the methods of all interfaces that the package
// writes down.
func (c *Code) askedFor() map[string]bool {
	names := map[string]bool{}
	for cur := range c.Root.Preorder((*ast.InterfaceType)(nil)) {
		if iface, ok := c.TypeOf(cur.Node().(ast.Expr)).(*types.Interface); ok {
			for m := range iface.Methods() {
				names[m.Name()] = true
			}
		}
	}
	return names
}
