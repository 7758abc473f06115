// Package life says what a package allocates, how long the memory lives and who keeps it. It works on
// SSA: a [Package] lists the allocation [Site]s of a type-checked package; [Package.Fate] follows a
// value forward to its [Holder]s, and [Package.Origin] follows one back to where it came from.
//
//	p := pass.ResultOf[life.Analyzer].(*life.Package)
//	for _, site := range p.At(file, line) {
//		fate := p.Fate(site.Value)       // who keeps it
//		if fate.Dies() { … }             // nobody, proved: reuse is safe
//	}
//	p.Summary(fn).Params[0].Self.Keeps   // what a callee does with an argument
//
// Calls are followed by [Summary]: for each parameter, which results, other parameters or holders may
// refer to its memory afterwards; for each result, whether it is fresh. [Analyzer] exports summaries
// as [Facts] across packages. Without the facts of an imported package its functions are unknown: a
// fate names them as holders of kind [Callee].
//
// A holder is certain or marked Perhaps. It is marked where a branch decides, where another field may
// lead to the memory, and where the callee is unknown, such as a function value or what reflection
// calls.
//
// The analysis is flow-insensitive and does not distinguish the elements of a container. It errs
// towards more holders: a value without any is dead when its function returns.
//
// A Package may be used by several goroutines at once, if its Source.Facts may.
package life

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// Analyzer computes the [Package] of each package, and exports its summaries.
var Analyzer = &analysis.Analyzer{
	Name:       "isobarlife",
	Doc:        "work out what is allocated, how long it lives and who keeps it",
	ResultType: reflect.TypeFor[*Package](),
	FactTypes:  []analysis.Fact{(*Facts)(nil)},
	Run: func(pass *analysis.Pass) (any, error) {
		imported := map[string]*Facts{}
		for _, f := range pass.AllPackageFacts() {
			if facts, ok := f.Fact.(*Facts); ok {
				imported[f.Package.Path()] = facts
			}
		}
		p, err := Build(Source{pass.Fset, pass.Pkg, pass.Files, pass.TypesInfo, pass.TypesSizes,
			func(path string) *Facts { return imported[path] }})
		if err != nil {
			return &Package{Source: Source{Pkg: pass.Pkg}}, nil // what SSA cannot express has no sites
		}
		pass.ExportPackageFact(p.Facts())
		return p, nil
	},
}

// A Source is a type-checked package.
type Source struct {
	Fset  *token.FileSet
	Pkg   *types.Package
	Files []*ast.File
	Info  *types.Info
	Sizes types.Sizes
	Facts func(path string) *Facts // facts of an imported package; nil if unknown
}

// withoutC returns the files and their types without the bodies of functions that use C, and without such initial
// values: what cgo would make of them has no types here.
func (s *Source) withoutC() ([]*ast.File, *types.Info) {
	usesC := func(n ast.Node) (found bool) {
		for n := range ast.Preorder(n) {
			id, _ := n.(*ast.Ident)
			switch of := s.Info.Uses[id].(type) {
			case *types.PkgName:
				found = found || of.Imported().Path() == "C"
			case *types.Var:
				found = found || of.Type() == types.Typ[types.Invalid]
			}
		}
		return found
	}
	var files []*ast.File
	for _, f := range s.Files {
		file := *f
		file.Decls = slices.Clone(f.Decls)
		for i, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && usesC(fn) {
				file.Decls[i] = &ast.FuncDecl{Recv: fn.Recv, Name: fn.Name, Type: fn.Type}
			}
		}
		files = append(files, &file)
	}
	info := *s.Info
	info.InitOrder = slices.DeleteFunc(slices.Clone(info.InitOrder),
		func(i *types.Initializer) bool { return usesC(i.Rhs) })
	return files, &info
}

// A Package is the SSA form of a package and what was derived from it. The zero value
// has no sites and knows no function.
type Package struct {
	Source
	SSA   *ssa.Package
	Funcs []*ssa.Function // with bodies; literals follow the function around them

	values    map[ast.Expr]ssa.Value // of expressions
	summaries map[*ssa.Function]*Summary
	callers   map[*ssa.Function][]ssa.CallInstruction
	callees   map[*ssa.Function][]*ssa.Function
	dynamic   []*ssa.Function // functions that call interface methods or function values
	closures  map[*ssa.Function]*ssa.MakeClosure
	byName    map[string][]*ssa.Function // methods, by name and type
	changed   map[*ssa.Global]bool       // package variables that other code than init sets

	// computed on demand
	listed  sync.Once // sites, nodes and taken
	sites   []*Site
	nodes   map[token.Pos]ast.Node // by the position that SSA gives an instruction
	taken   map[*ast.CompositeLit]token.Pos
	placed  sync.Once // lines
	lines   map[line][]*Site
	loops   memo[*ssa.Function, []*Loop]
	imports memo[*ssa.Function, *Summary]  // of functions of other packages
	fields  memo[types.Type, []string]     // field names of structs
	skips   memo[[2]*ssa.BasicBlock, bool] // whether a path from the first leads around the second
}

// Build builds the SSA form of a package. It returns an error if the package has
// constructs that SSA cannot express, such as unknown types.
func Build(s Source) (p *Package, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("life: build %s: %v", s.Pkg.Path(), r)
		}
	}()
	prog := ssa.NewProgram(s.Fset, ssa.GlobalDebug|ssa.BuildSerially)
	prog.SetNoReturn(Stops)
	for _, imported := range s.Pkg.Imports() {
		prog.CreatePackage(imported, nil, nil, true)
	}
	files, info := s.withoutC()
	p = &Package{Source: s, SSA: prog.CreatePackage(s.Pkg, files, info, false),
		summaries: map[*ssa.Function]*Summary{}, callers: map[*ssa.Function][]ssa.CallInstruction{},
		closures: map[*ssa.Function]*ssa.MakeClosure{}, values: map[ast.Expr]ssa.Value{},
		callees: map[*ssa.Function][]*ssa.Function{}, byName: map[string][]*ssa.Function{},
		changed: map[*ssa.Global]bool{}}
	p.SSA.Build()
	p.declared()
	p.index()
	p.summarize()
	return p, nil
}

// Stops reports whether a call of fn never returns.
func Stops(fn *types.Func) bool {
	switch fn.FullName() {
	case "os.Exit", "runtime.Goexit", "log.Fatal", "log.Fatalf", "log.Fatalln", "log.Panic", "log.Panicf", "log.Panicln",
		"(*log.Logger).Fatal", "(*log.Logger).Fatalf", "(*log.Logger).Fatalln", "(*log.Logger).Panic",
		"(*log.Logger).Panicf", "(*log.Logger).Panicln":
		return true
	}
	return false
}

// declared lists the functions that the files declare, with their literals, and the
// package initializer.
func (p *Package) declared() {
	var add func(fn *ssa.Function)
	add = func(fn *ssa.Function) {
		if fn == nil || len(fn.Blocks) == 0 {
			return
		}
		p.Funcs = append(p.Funcs, fn)
		for _, anon := range fn.AnonFuncs {
			add(anon)
		}
	}
	for _, f := range p.Files {
		for _, decl := range f.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok {
				if fn, ok := p.Info.Defs[d.Name].(*types.Func); ok {
					add(p.SSA.Prog.FuncValue(fn))
				}
			}
		}
	}
	add(p.SSA.Func("init"))
}

// index records expressions, methods, calls, closures and stores for later look-ups.
func (p *Package) index() {
	for _, fn := range p.Funcs {
		if fn.Signature.Recv() != nil {
			key := methodKey(fn.Name(), fn.Signature)
			p.byName[key] = append(p.byName[key], fn)
		}
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				switch i := instr.(type) {
				case *ssa.DebugRef:
					if !i.IsAddr {
						p.values[i.Expr] = i.X
					}
				case *ssa.MakeClosure:
					p.closures[i.Fn.(*ssa.Function)] = i
				case *ssa.Store:
					if at, ok := i.Addr.(*ssa.Global); ok && fn.Name() != "init" {
						p.changed[at] = true
					}
				}
				if call, ok := instr.(ssa.CallInstruction); ok {
					p.calling(fn, call)
				}
			}
		}
	}
}

// calling records a call.
func (p *Package) calling(fn *ssa.Function, call ssa.CallInstruction) {
	if callee := static(call.Common()); callee != nil {
		p.callers[callee] = append(p.callers[callee], call)
		p.callees[fn] = append(p.callees[fn], callee)
	} else if n := len(p.dynamic); n == 0 || p.dynamic[n-1] != fn {
		p.dynamic = append(p.dynamic, fn)
	}
}

// Callers are the calls in the package that name a function.
func (p *Package) Callers(fn *ssa.Function) []ssa.CallInstruction { return p.callers[fn] }

// Value returns the value of an expression of the files, or nil: constants, types and
// dead code have none.
func (p *Package) Value(e ast.Expr) ssa.Value { return p.values[ast.Unparen(e)] }

// static returns the function that a call names, for an instance its generic origin;
// nil for calls of interface methods and function values.
func static(c *ssa.CallCommon) *ssa.Function {
	fn := c.StaticCallee()
	if fn != nil && fn.Origin() != nil {
		return fn.Origin()
	}
	return fn
}

// Changed reports whether other code than init sets a package variable.
func (p *Package) Changed(v *ssa.Global) bool { return p.changed[v] }
