package check

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

// A Caveat is a change that a finding's fix needs outside the function with the
// finding. When a profile sorts findings, those with a caveat rank last.
type Caveat string

const (
	Interface Caveat = "needs another interface" // changes an API that others use, or one that must accept any value
)

// Needs returns a pass whose reports have the caveat, or p itself if holds is false.
func (p *Pass) Needs(c Caveat, holds bool) *Pass {
	if !holds {
		return p
	}
	q := *p
	q.caveat = c
	return &q
}

// CaveatOf returns the caveat with the given text, or "".
func CaveatOf(text string) Caveat {
	if c := Caveat(text); c == Interface {
		return c
	}
	return ""
}

// Free reports whether this package may change the signature of fn: fn has its body
// here, is not visible outside the module, is only called and never used as a value,
// and is no method that an interface may need.
func (c *Code) Free(fn *types.Func) bool {
	if _, decl := c.Decl(fn); decl == nil || c.Seen(fn) {
		return false
	}
	if fn.Signature().Recv() != nil && (fn.Exported() || c.asked[fn.Name()]) {
		return false
	}
	return !slices.ContainsFunc(c.Uses(fn), func(use inspector.Cursor) bool { return CallOf(use) == nil })
}

// FreeAround is Free for the function around cur. A function literal is never free.
func (c *Code) FreeAround(cur inspector.Cursor) bool {
	f, _ := Func(cur)
	if decl, ok := f.Node().(*ast.FuncDecl); ok {
		fn, _ := c.Info.Defs[decl.Name].(*types.Func)
		return c.Free(fn)
	}
	return false
}

// Seen reports whether packages outside the module may refer to obj.
func (c *Code) Seen(obj types.Object) bool {
	return obj.Exported() && c.Pkg.Name() != "main" && !strings.Contains("/"+c.Pkg.Path()+"/", "/internal/")
}

// askedFor returns the method names of all interface types in the package's source.
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
