package life

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// call follows v as an argument of a call.
func (w *walker) call(v ssa.Value, call ssa.CallInstruction, in within) {
	c := call.Common()
	if _, ok := call.(*ssa.Go); ok {
		w.hold(Holder{Kind: Goroutine, Name: calleeName(c), Index: -1, Pos: call.Pos()})
		return
	}
	if b, ok := c.Value.(*ssa.Builtin); ok {
		w.builtin(v, b.Name(), call, in)
		return
	}
	if c.IsInvoke() && c.Value == v { // a method that is not known is taken not to hand its own receiver on
		for _, fn := range w.p.methods(c) {
			if s := w.p.summaries[fn]; s != nil && len(s.Params) > 0 {
				w.received(&s.Params[0], call, in)
			}
		}
		for n := range c.Signature().Results().Len() {
			if refersLike(c.Signature().Results().At(n).Type()) {
				w.result(call, n, within{})
			}
		}
	}
	for n, arg := range c.Args {
		if arg != v {
			continue
		}
		use := w.p.argUse(c, n, in.depth != itself)
		if use == nil {
			w.fate.Writes = w.fate.Writes || !isString(v.Type())
			w.hold(Holder{Kind: Callee, Name: calleeName(c), Index: n, Pos: call.Pos(), Object: !isText(v.Type())})
			continue
		}
		w.apply(use, v, call, in)
	}
}

// apply follows what a callee does with an argument.
func (w *walker) apply(use *Use, v ssa.Value, call ssa.CallInstruction, in within) {
	c := call.Common()
	w.fate.Writes = w.fate.Writes || use.Writes
	for _, k := range use.Keeps {
		w.hold(Holder{Kind: k.Kind, Name: k.Name, Index: -1, Pos: call.Pos(), AsText: k.AsText,
			Object: k.Object})
	}
	for j := range c.Args {
		if j < 32 && use.Into&(1<<j) != 0 && c.Args[j] != v {
			w.storeIn(c.Args[j], use.into(j, call.Pos()), within{})
		}
	}
	for r := range c.Signature().Results().Len() {
		if r < 32 && use.Within&(1<<r) != 0 {
			w.result(call, r, within{})
		} else if r < 32 && use.Returns&(1<<r) != 0 {
			if !types.Identical(c.Signature().Results().At(r).Type(), v.Type()) {
				w.result(call, r, within{})
			} else {
				w.result(call, r, in)
			}
		}
	}
}

// received follows what a method that an interface may name keeps of its receiver.
func (w *walker) received(p *Param, call ssa.CallInstruction, in within) {
	use := &p.Self
	if in.depth != itself {
		use = &p.Inside
	}
	w.fate.Writes = w.fate.Writes || use.Writes
	for _, k := range use.Keeps {
		w.hold(Holder{Kind: k.Kind, Name: k.Name, Index: -1, Pos: call.Pos(), AsText: k.AsText,
			Object: k.Object})
	}
	for j, arg := range call.Common().Args { // which do not count the receiver
		if j < 31 && use.Into&(2<<j) != 0 {
			w.storeIn(arg, use.into(j+1, call.Pos()), within{})
		}
	}
}

// builtin follows v into a builtin function.
func (w *walker) builtin(v ssa.Value, name string, call ssa.CallInstruction, in within) {
	args := call.Common().Args
	switch name {
	case "append":
		if args[0] == v {
			w.fate.Writes = true
			w.value(call.Value(), in)
		} else if in.depth != itself && holdsMore(v) { // the elements of the list, not the list
			w.value(call.Value(), in)
		}
	case "copy":
		if args[0] == v {
			w.fate.Writes = true
		} else if in.depth != itself && holdsMore(v) {
			w.storeIn(args[0], Holder{Kind: Field, Index: -1, Pos: call.Pos()}, in)
		}
	case "clear":
		w.fate.Writes = true
	case "ssa:wrapnilchk", "String", "StringData", "Slice", "SliceData", "Add", "min", "max":
		w.value(call.Value(), in)
	}
}

// holdsMore reports whether the elements of a list refer to memory, too.
func holdsMore(v ssa.Value) bool {
	s, ok := v.Type().Underlying().(*types.Slice)
	return ok && refers(s.Elem(), 0)
}

// argUse is what a call does with argument n; nil where that is unknown.
func (p *Package) argUse(c *ssa.CallCommon, n int, inside bool) *Use {
	if use := contract(c, n); use == pooled && inside {
		return reads // what is put into a pool is taken to hold nothing that is still needed
	} else if use != nil {
		return use
	}
	sum := p.callee(c)
	if sum == nil || n >= len(sum.Params) {
		return nil
	}
	if inside {
		return &sum.Params[n].Inside
	}
	return &sum.Params[n].Self
}

// callee is the summary of what is called, or nil. Of a function value it is all
// that functions of the package with its type do that are used as values; of a
// method of an interface that the package declares, what its types do.
func (p *Package) callee(c *ssa.CallCommon) *Summary {
	if fn := static(c); fn != nil {
		return p.Summary(fn)
	}
	candidates := p.methods(c)
	if !c.IsInvoke() {
		candidates = p.taken[types.TypeString(c.Signature(), nil)]
	}
	if len(candidates) == 0 {
		return nil
	}
	all := &Summary{}
	for _, fn := range candidates {
		s := p.summaries[fn]
		if s == nil {
			return nil
		}
		params, recv := s.Params, ""
		if fn.Signature.Recv() != nil { // an invoke and a bound method have it apart
			params, recv = params[min(1, len(params)):], "what the receiver of "+funcName(fn.Object().(*types.Func))+" refers to"
		}
		all.merge(params, s, recv)
	}
	return all
}

// methods returns the methods of the package's types that an invoke may call,
// where the interface is the package's own.
func (p *Package) methods(c *ssa.CallCommon) []*ssa.Function {
	if !c.IsInvoke() {
		return nil
	}
	named, ok := types.Unalias(c.Value.Type()).(*types.Named)
	if !ok || named.Obj().Pkg() != p.Pkg {
		return nil
	}
	return p.byName[c.Method.Name()+types.TypeString(c.Method.Signature(), nil)]
}

// merge adds a function that may be the one that is called, and its parameters without
// the receiver, which recv names. Its bits of parameters count that.
func (s *Summary) merge(params []Param, of *Summary, recv string) {
	for i, q := range params {
		if i == len(s.Params) {
			s.Params = append(s.Params, Param{})
		}
		s.Params[i].Self.merge(q.Self, recv)
		s.Params[i].Inside.merge(q.Inside, recv)
	}
	s.Results = mergeOrigins(s.Results, of.Results, recv != "")
	s.Reached = mergeOrigins(s.Reached, of.Reached, recv != "")
}

func mergeOrigins(all, more []Origin, recv bool) []Origin {
	for i, r := range more {
		if i == len(all) {
			all = append(all, Origin{})
		}
		if recv {
			r.Shared, r.Params = r.Shared || r.Params&1 != 0, r.Params>>1
		}
		all[i].merge(r)
	}
	return all
}

func (u *Use) merge(v Use, recv string) {
	if recv != "" {
		if v.Into&1 != 0 {
			u.keep(Keep{Kind: Field, Name: recv})
		}
		v.Into, v.Deep = v.Into>>1, v.Deep>>1
	}
	u.Deep |= v.Deep
	u.Writes, u.Returns, u.Within, u.Into = u.Writes || v.Writes, u.Returns|v.Returns, u.Within|v.Within, u.Into|v.Into
	for _, k := range v.Keeps {
		u.keep(k)
	}
}

// Arg returns what a call does with argument n, receiver first: nil where that
// is unknown.
func (p *Package) Arg(c *ssa.CallCommon, n int) *Use { return p.argUse(c, n, false) }

// moves is the summary of a function without a body. Where it is of the standard
// library, it moves references between what its arguments and results refer to, and
// keeps none. nil for other ones.
func moves(fn *ssa.Function) *Summary {
	if obj, ok := fn.Object().(*types.Func); !ok || !standard(obj) {
		return nil
	}
	holds := func(t types.Type) bool {
		if p, ok := t.Underlying().(*types.Pointer); ok && !describes(p.Elem()) {
			t = p.Elem()
		}
		return refers(t, 0)
	}
	use, all := Use{Writes: true}, Origin{Fresh: true}
	sum := &Summary{Params: make([]Param, len(fn.Params)), Results: make([]Origin, fn.Signature.Results().Len())}
	for r := range min(32, len(sum.Results)) {
		if holds(fn.Signature.Results().At(r).Type()) {
			use.Within |= 1 << r
		}
	}
	for n, p := range fn.Params[:min(32, len(fn.Params))] {
		if holds(p.Type()) {
			all.Params |= 1 << n
		}
	}
	for n := range sum.Params {
		mine := Use{Writes: true}
		if all.Params&(1<<n) != 0 {
			mine = use
			mine.Into = all.Params &^ (1 << n)
		}
		sum.Params[n] = Param{mine, mine}
	}
	for r := range sum.Results {
		sum.Results[r] = all
	}
	return sum
}

var (
	reads  = &Use{}
	writes = &Use{Writes: true}
	pooled = &Use{Keeps: []Keep{{Kind: Global, Name: "of type sync.Pool"}}}
)

// contract is what the documentation of the standard library says of an
// argument, where no analysis of a body could: behind interfaces, reflection,
// assembly.
func contract(c *ssa.CallCommon, n int) *Use {
	if c.IsInvoke() {
		return methodContract(c.Method)
	}
	fn := static(c)
	if fn == nil {
		return nil
	}
	obj, ok := fn.Object().(*types.Func)
	if !ok || obj.Pkg() == nil {
		return nil
	}
	return funcContract(obj, n)
}

// methodContract knows the methods of io, hash, sort, fmt and error: none keeps
// its arguments.
func methodContract(m *types.Func) *Use {
	sig := m.Signature()
	switch m.Name() {
	case "Write", "WriteString", "Sum", "Fprint", "WriteAt":
		if sig.Params().Len() > 0 && refersLike(sig.Params().At(0).Type()) && m.Name() != "Sum" {
			return reads
		}
		return &Use{Writes: true, Returns: 1}
	case "Read", "ReadAt", "ReadFull", "ReadFrom", "WriteTo":
		return writes
	case "Len", "Less", "Swap", "Error", "String", "Is", "Unwrap":
		return reads
	}
	if plain(sig.Params()) {
		return reads
	}
	if standard(m) && fills(sig) {
		return writes
	}
	return nil
}

// standard reports whether fn is of the standard library.
func standard(fn *types.Func) bool {
	if fn.Pkg() == nil {
		return true
	}
	first, _, _ := strings.Cut(fn.Pkg().Path(), "/")
	return !strings.Contains(first, ".")
}

// fills reports whether a method takes bytes and numbers alone, and returns numbers
// and errors: such as those of ByteOrder and cipher.Block, which read the bytes or
// fill them.
func fills(sig *types.Signature) bool {
	for v := range sig.Params().Variables() {
		if refers(v.Type(), 0) && !isBytes(v.Type()) {
			return false
		}
	}
	for v := range sig.Results().Variables() {
		if refersLike(v.Type()) {
			return false
		}
	}
	return true
}

// plain reports whether no variable can refer to memory.
func plain(vars *types.Tuple) bool {
	for v := range vars.Variables() {
		if refers(v.Type(), 0) {
			return false
		}
	}
	return true
}

// readers are packages whose functions only read what they are given, apart
// from the buffers and values that are there to be written.
var readers = []string{"fmt", "log", "encoding/json", "encoding/xml", "encoding/gob", "encoding/binary", "unicode/utf8",
	"internal/bytealg", "hash/crc32", "crypto/sha256", "crypto/md5", "crypto/sha1", "crypto/sha512", "runtime", "syscall",
	"math/big", "strconv", "testing", "errors", "encoding/base64", "encoding/hex"}

func funcContract(fn *types.Func, n int) *Use {
	sig, path := fn.Signature(), fn.Pkg().Path()
	switch path {
	case "sync/atomic", "internal/runtime/atomic":
		if strings.HasPrefix(fn.Name(), "Store") || strings.HasPrefix(fn.Name(), "Swap") ||
			strings.HasPrefix(fn.Name(), "CompareAndSwap") {
			if n > 0 {
				return &Use{Into: 1}
			}
		}
		return reads
	case "sync":
		if fn.Name() == "Put" && n == 1 {
			return pooled
		}
		if fn.Name() == "Store" || fn.Name() == "LoadOrStore" || fn.Name() == "Swap" {
			return &Use{Into: 1}
		}
	case "sort", "slices":
		switch fn.Name() {
		case "Sort", "Stable", "Slice", "SliceStable", "SortFunc", "SortStableFunc", "Reverse":
			if sig.Results().Len() == 0 {
				return writes
			}
		}
	}
	if !slices.Contains(readers, path) {
		return nil
	}
	var use Use
	for r := range min(sig.Results().Len(), 32) { // an error may hold what it is about; appended to is what comes first
		if t := sig.Results().At(r).Type(); n == 0 && sig.Recv() == nil && params(sig) > 0 &&
			types.Identical(t, sig.Params().At(0).Type()) && !isString(t) {
			use.Returns |= 1 << r
		}
	}
	if sig.Recv() != nil || sig.Results().Len() > 0 && !onlyText(sig.Results()) && use.Returns == 0 {
		return nil // NewDecoder keeps its reader
	}
	use.Writes = use.Returns != 0 || strings.HasPrefix(fn.Name(), "Unmarshal") && n == 1
	return &use
}

func params(sig *types.Signature) int { return sig.Params().Len() }

// onlyText reports whether all results are texts, bytes, numbers or errors.
func onlyText(vars *types.Tuple) bool {
	for v := range vars.Variables() {
		if refersLike(v.Type()) && !isString(v.Type()) && !isBytes(v.Type()) {
			return false
		}
	}
	return true
}

// refersLike reports whether t can refer to the memory of an argument: errors
// are taken not to.
func refersLike(t types.Type) bool {
	return refers(t, 0) && !isError(t)
}

func isBytes(t types.Type) bool {
	s, ok := t.Underlying().(*types.Slice)
	if !ok {
		return false
	}
	b, ok := s.Elem().Underlying().(*types.Basic)
	return ok && b.Kind() == types.Byte
}
