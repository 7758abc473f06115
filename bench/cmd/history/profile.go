package main

import (
	"context"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// A code is a line in the package that has it.
type code struct {
	*life.Package
	file string
	line int
	said []string // what the profile has at the line
}

// load type-checks the package of a line.
func load(ctx context.Context, dir, pattern, file string, line int) (*code, error) {
	pkgs, err := packages.Load(&packages.Config{Context: ctx, Dir: dir, Env: environment(),
		Mode: packages.LoadSyntax}, pattern)
	if err != nil {
		return nil, err
	}
	p := pkgs[0]
	if len(p.Errors) > 0 {
		return nil, fmt.Errorf("does not build: %w", p.Errors[0])
	}
	if !slices.Contains(p.GoFiles, file) {
		return nil, fmt.Errorf("the file is not built on %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	built, err := life.Build(life.Source{Fset: p.Fset, Pkg: p.Types, Files: p.Syntax, Info: p.TypesInfo,
		Sizes: p.TypesSizes, Facts: func(string) *life.Facts { return nil }})
	return &code{Package: built, file: file, line: line}, err
}

// A frame is a line of a function, both as a profile names them.
type frame struct {
	function, file string
	line           int
}

func (c *code) frame(fn *ssa.Function, at token.Pos) frame {
	where := c.Fset.Position(at)
	return frame{c.name(fn), where.Filename, where.Line}
}

// name returns the name of a function of the package in a profile.
func (c *code) name(fn *ssa.Function) string { return symbol(c.Pkg, fn.RelString(nil)) }

var (
	method  = regexp.MustCompile(`^\((\*?)(.*)\.([^.]+)\)\.`)
	literal = regexp.MustCompile(`\$(\d+)`)
)

// symbol returns the name in a profile of a function of a package that go/types or SSA calls full.
func symbol(p *types.Package, full string) string {
	dir, last := "", p.Path()
	if i := strings.LastIndexByte(last, '/') + 1; i > 0 {
		dir, last = last[:i], last[i:]
	}
	at := dir + strings.ReplaceAll(last, ".", "%2e")
	if p.Name() == "main" {
		at = "main"
	}
	full = strings.Replace(full, p.Path(), at, 1)
	if m := method.FindStringSubmatch(full); m != nil {
		typ, _, generic := strings.Cut(m[3], "[")
		if generic {
			typ += "[...]"
		}
		if m[1] != "" {
			typ = "(*" + typ + ")"
		}
		full = m[2] + "." + typ + "." + full[len(m[0]):]
	}
	full = strings.Replace(full, "$", ".func", 1)
	return literal.ReplaceAllString(full, ".$1")
}

var (
	// program calls the module.
	program = []frame{{"example.com/app.serve", "/src/app/serve.go", 20}, {"main.main", "/src/app/main.go", 20},
		{"runtime.main", "/go/src/runtime/proc.go", 290}}
	// started calls what a go statement runs.
	started = frame{"runtime.goexit", "/go/src/runtime/asm_amd64.s", 1693}
)

// callers returns the frames above a function: for each, the first static call in the package.
func (c *code) callers(fn *ssa.Function) (out []frame) {
	const most = 8
	for len(out) < most {
		call := c.caller(fn)
		if call == nil {
			break
		}
		if _, starts := call.(*ssa.Go); starts {
			return append(out, started)
		}
		fn = call.Parent()
		out = append(out, c.frame(fn, call.Pos()))
	}
	return append(out, program...)
}

func (c *code) caller(fn *ssa.Function) ssa.CallInstruction {
	for _, by := range c.Funcs {
		for _, b := range by.Blocks {
			for _, instr := range b.Instrs {
				call, ok := instr.(ssa.CallInstruction)
				if !ok || by == fn {
					continue
				}
				if to := call.Common().StaticCallee(); to != nil && (to == fn || to.Origin() == fn) {
					return call
				}
			}
		}
	}
	return nil
}

// A sample is memory of one size that a function makes at the line, in the functions that it
// calls there: leaf first.
type sample struct {
	fn    *ssa.Function
	inner []string
	size  int64
}

// text is the size of a text, and of what a call allocates: the code does not tell.
const text = 64

// samples returns what the line allocates: in the named call, and boxes, if it has that call; else
// what it allocates itself; else in all calls of other packages that it has. The named function
// may be called by one that the line calls, unless it must be exact.
func (c *code) samples(ctx context.Context, dir, call string, exact bool) (out []sample, err error) {
	var sites, calls []*life.Site
	for _, s := range c.At(c.file, c.line) {
		switch {
		case s.From != c.line && c.Fset.Position(s.Instr.Pos()).Line != c.line:
		case s.Kind != life.Call:
			sites = append(sites, s)
		case invokes(s) || callee(s) != nil && callee(s).Pkg() != c.Pkg:
			calls = append(calls, s)
		}
	}
	heap, err := c.onHeap(ctx, dir, sites)
	if err != nil {
		return nil, err
	}
	if call != "" {
		out = c.inCall(call, calls, exact)
	}
	if len(out) > 0 { // with what the compiler boxes for the call
		sites = slices.DeleteFunc(heap, func(s *life.Site) bool { return s.Kind != life.Box })
	} else if len(heap) > 0 {
		sites = heap
	}
	for _, s := range sites {
		c.said = append(c.said, s.Kind.String())
		for _, size := range c.sizes(s) {
			out = append(out, sample{s.Func, nil, size})
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	for _, s := range calls {
		out = append(out, c.in(s, called(s))...)
	}
	if len(out) > 0 {
		return out, nil
	}
	c.said = []string{"unknown"}
	for _, fn := range c.Funcs { // literals follow the function around them
		if n := fn.Syntax(); n != nil && c.Fset.Position(n.Pos()).Filename == c.file &&
			c.Fset.Position(n.Pos()).Line <= c.line && c.line <= c.Fset.Position(n.End()).Line {
			out = []sample{{fn, nil, text}}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no code is at the line")
	}
	return out, nil
}

// invokes reports whether a site calls a method of an interface.
func invokes(s *life.Site) bool { return s.Instr.(ssa.CallInstruction).Common().IsInvoke() }

// callee returns the function or method that a site calls, or nil.
func callee(s *life.Site) *types.Func {
	common := s.Instr.(ssa.CallInstruction).Common()
	if common.IsInvoke() {
		return common.Method
	}
	if fn := common.StaticCallee(); fn != nil {
		of, _ := fn.Object().(*types.Func)
		return of
	}
	return nil
}

// called returns the name of that function in a profile. Of a method of an interface, some type of the program has it.
func called(s *life.Site) string {
	fn := callee(s)
	if invokes(s) {
		return "example.com/app.(*value)." + fn.Name()
	}
	return symbol(fn.Pkg(), fn.Origin().FullName())
}

// in returns what a call allocates: functions named leaf first. What writes to a buffer makes that grow, too.
func (c *code) in(s *life.Site, inner ...string) []sample {
	c.said = append(c.said, "in "+strings.Join(inner, ", called by "))
	out := []sample{{s.Func, inner, text}}
	args, results := s.Instr.(ssa.CallInstruction).Common().Args, callee(s).Signature().Results()
	if len(args) == 0 || results.Len() == 0 || len(inner) > 1 {
		return out
	}
	buffer, boxed := args[0].(*ssa.MakeInterface)
	if !boxed || results.At(results.Len()-1).Type() != types.Universe.Lookup("error").Type() {
		return out
	}
	if write := writes[buffer.X.Type().String()]; write != "" {
		out = append(out, c.in(s, write, inner[0])...)
	}
	return out
}

// writes are the methods that make buffers grow.
var writes = map[string]string{
	"*bytes.Buffer": "bytes.(*Buffer).Write", "*strings.Builder": "strings.(*Builder).Write",
}

// plain spells the name of a function as a list does.
var plain = strings.NewReplacer("(*", "", ")", "", "(", "", "*", "", "[...]", "", "%2e", ".")

// inCall returns the samples of a call by its name.
func (c *code) inCall(name string, calls []*life.Site, exact bool) (out []sample) {
	want := plain.Replace(name)
	for _, s := range calls {
		fn := callee(s)
		got := called(s)
		if p := plain.Replace(got); p == want || strings.HasSuffix(p, "/"+want) {
			out = append(out, c.in(s, got)...)
		} else if invokes(s) && strings.HasSuffix(want, "."+fn.Name()) {
			out = append(out, c.in(s, c.find(want))...)
		}
	}
	if len(out) == 0 && len(calls) > 0 && !exact {
		out = c.in(calls[0], c.find(want), called(calls[0]))
	}
	return out
}

// find returns the name in a profile of a function that a list names: of an imported package if there is one.
func (c *code) find(name string) string {
	seen := map[*types.Package]bool{}
	for queue := c.Pkg.Imports(); len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		if seen[p] {
			continue
		}
		seen[p], queue = true, append(queue, p.Imports()...)
		for _, prefix := range []string{p.Path() + ".", p.Name() + "."} {
			rest, ok := strings.CutPrefix(name, prefix)
			if !ok {
				continue
			}
			typ, method, _ := strings.Cut(rest, ".")
			switch of := p.Scope().Lookup(typ).(type) {
			case *types.Func:
				return symbol(p, of.FullName())
			case *types.TypeName:
				m, _, _ := types.LookupFieldOrMethod(of.Type(), true, p, method)
				if fn, ok := m.(*types.Func); ok {
					return symbol(p, fn.FullName())
				}
			}
		}
	}
	return name
}

// messages are what the compiler says of an expression of a kind that is on the heap. Of
// other kinds it says nothing.
var messages = map[life.Kind]*regexp.Regexp{
	life.Literal:     regexp.MustCompile(`\{\.\.\.\} escapes`),
	life.New:         regexp.MustCompile(`^new\(.* escapes`),
	life.Variable:    regexp.MustCompile(`^moved to heap`),
	life.Make:        regexp.MustCompile(`^make\(.* escapes`),
	life.Map:         regexp.MustCompile(`^(make\(|map\[).* escapes`),
	life.Concat:      regexp.MustCompile(` \+ .* escapes`),
	life.Convert:     regexp.MustCompile(`\(.*\) escapes`),
	life.Box:         regexp.MustCompile(` escapes`),
	life.Closure:     regexp.MustCompile(`^func literal escapes`),
	life.MethodValue: regexp.MustCompile(`\.\w+ escapes`),
	life.Variadic:    regexp.MustCompile(`^\.\.\. argument escapes`),
}

var message = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: (.* escapes to heap|moved to heap: .*?):?$`)

// onHeap returns the sites of the line that the compiler has on the heap. Nothing is inlined, as messages
// about copies are elsewhere.
func (c *code) onHeap(ctx context.Context, dir string, sites []*life.Site) ([]*life.Site, error) {
	if len(sites) == 0 {
		return nil, nil
	}
	out, err := output(ctx, dir, "sh", "-c", `go build -o "$0" "-gcflags=-m -l" "$1" 2>&1`, os.DevNull, c.Pkg.Path())
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out[max(0, len(out)-1000):])
	}
	said := message.FindAllStringSubmatch(string(out), -1)
	return slices.DeleteFunc(slices.Clone(sites), func(s *life.Site) bool {
		want, ok := messages[s.Kind]
		return ok && !slices.ContainsFunc(said, func(m []string) bool {
			return strings.HasSuffix(c.file, strings.TrimPrefix(m[1], ".")) && m[2] == strconv.Itoa(c.line) &&
				want.MatchString(m[3])
		})
	}), nil
}

// sizes returns the sizes of the objects that a site makes: several if it grows.
func (c *code) sizes(s *life.Site) []int64 {
	const room, slots, word, mapHeader, channel, goroutine = 16, 8, 8, 48, 96, 448
	grown := func(first, n int64) (all []int64) {
		for range 5 {
			all = append(all, class(first+n, s.Type))
			n *= 2
		}
		return all
	}
	switch s.Kind {
	case life.Append:
		return grown(0, s.Size)
	case life.Make:
		if _, array := s.Value.(*ssa.Alloc); !array {
			return []int64{class(room*s.Size, s.Type)}
		}
	case life.Map:
		return []int64{mapHeader}
	case life.MapGrow:
		m := s.Type.Underlying().(*types.Map)
		return grown(word, slots*(c.Sizes.Sizeof(m.Key())+c.Sizes.Sizeof(m.Elem())))
	case life.Concat, life.Convert, life.Defer:
		return []int64{text}
	case life.Closure, life.MethodValue:
		return []int64{class(word+word*int64(s.Captures()), s.Type)}
	case life.Channel:
		return []int64{channel}
	case life.Go:
		return []int64{goroutine}
	}
	return []int64{class(s.Size, s.Type)}
}

// class returns the size of the block that holds an object.
func class(n int64, of types.Type) int64 {
	const tiny = 16 // what has no pointers shares blocks
	if n = max(n, 1); n < tiny && !check.HasPointers(of) {
		return tiny
	}
	return int64(cap(slices.Grow([]byte(nil), int(n))))
}

// profile makes an allocation profile in which the line has a fifth of all bytes and objects.
func (c *code) profile(samples []sample) (*profile.Profile, error) {
	const objects, elsewhere = 1_000_000, 4
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
			{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
		DefaultSampleType: "alloc_space",
		PeriodType:        &profile.ValueType{Type: "space", Unit: "bytes"}, Period: 512 << 10,
	}
	locations := map[frame]*profile.Location{}
	add := func(stack []frame, n, size int64) {
		s := &profile.Sample{Value: []int64{n, n * size, 0, 0}, NumLabel: map[string][]int64{"bytes": {size}}}
		for _, f := range stack {
			if locations[f] == nil {
				fn := &profile.Function{ID: uint64(len(p.Function) + 1), Name: f.function, Filename: f.file}
				p.Function = append(p.Function, fn)
				locations[f] = &profile.Location{ID: fn.ID, Line: []profile.Line{{Function: fn, Line: int64(f.line)}}}
				p.Location = append(p.Location, locations[f])
			}
			s.Location = append(s.Location, locations[f])
		}
		p.Sample = append(p.Sample, s)
	}
	other := []frame{{"bufio.NewReaderSize", "/go/src/bufio/bufio.go", 56},
		{"net/http.(*conn).serve", "/go/src/net/http/server.go", 2000}}
	for _, s := range samples {
		var stack []frame
		for _, name := range s.inner {
			stack = append(stack, frame{name, "/src/" + plain.Replace(name) + ".go", 2})
		}
		stack = append(stack, frame{c.name(s.fn), c.file, c.line})
		add(append(stack, c.callers(s.fn)...), objects, s.size)
		add(other, elsewhere*objects, s.size)
	}
	return p, p.CheckValid()
}
