package life

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

var lets = &Use{} // the callee does not keep it

// pools reports whether a call puts its argument into a sync.Pool.
func pools(c *ssa.CallCommon) bool {
	fn := static(c)
	return fn != nil && fn.String() == "(*sync.Pool).Put"
}

// pooled is the use of what is put into a pool: its field or variable keeps it.
func pooled(pool ssa.Value) *Use {
	if load, ok := pool.(*ssa.UnOp); ok {
		pool = load.X
	}
	k := Keep{Kind: Field, Name: "variable of type sync.Pool"}
	switch pool := pool.(type) {
	case *ssa.FieldAddr:
		k.Name = fieldName(pool.X.Type(), pool.Field)
	case *ssa.Global:
		k.Kind, k.Name = Global, pool.Name()
	}
	return &Use{Keeps: []Keep{k}}
}

// contract returns what the standard library documents about argument n, where no analysis of a body
// can tell: behind interfaces, reflection and assembly. It returns nil for anything else.
func contract(c *ssa.CallCommon, n int) *Use {
	if c.IsInvoke() {
		return methodContract(c.Method)
	}
	if pools(c) && n == 1 {
		return pooled(c.Args[0])
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

// methodContract knows interface methods of io, hash, sort, fmt and error: none keeps its arguments. It goes by name
// and by what the first argument is.
func methodContract(m *types.Func) *Use {
	sig := m.Signature()
	if sig.Params().Len() > 0 && streams(sig.Params().At(0).Type()) {
		switch m.Name() {
		case "Sum":
			return &Use{Returns: 1}
		case "Write", "WriteString", "WriteAt", "Read", "ReadAt", "ReadFull", "ReadFrom", "WriteTo", "Is":
			return lets
		}
	}
	if Standard(m) && fills(sig) {
		return lets
	}
	return nil
}

// streams reports whether a type is bytes or text, a type of package io, or error.
func streams(t types.Type) bool {
	of, ok := types.Unalias(t).(*types.Named)
	return IsBytes(t) || IsString(t) || isError(t) || ok && of.Obj().Pkg() != nil && of.Obj().Pkg().Path() == "io"
}

// Standard reports whether fn belongs to the standard library.
func Standard(fn *types.Func) bool {
	if fn.Pkg() == nil {
		return true
	}
	first, _, _ := strings.Cut(fn.Pkg().Path(), "/")
	return !strings.Contains(first, ".")
}

// fills reports whether a method takes only bytes and numbers and its results refer to
// no memory, errors aside. Such methods, those of ByteOrder and cipher.Block for
// example, read the bytes or fill them.
func fills(sig *types.Signature) bool {
	other := func(t types.Type) bool { return refers(t, 0) && !IsBytes(t) }
	return !anyType(sig.Params().Variables(), other) && !anyType(sig.Results().Variables(), refersLike)
}

// readers are packages whose functions only read their arguments, apart from buffers
// and values that they are called to write.
var readers = []string{"fmt", "log", "encoding/json", "encoding/xml", "encoding/gob", "encoding/binary", "unicode/utf8",
	"internal/bytealg", "hash/crc32", "crypto/sha256", "crypto/md5", "crypto/sha1", "crypto/sha512", "runtime", "syscall",
	"math/big", "strconv", "testing", "errors", "encoding/base64", "encoding/hex"}

func funcContract(fn *types.Func, n int) *Use {
	sig, path := fn.Signature(), fn.Pkg().Path()
	switch path {
	case "sync/atomic", "internal/runtime/atomic":
		if n > 0 && (strings.HasPrefix(fn.Name(), "Store") || strings.HasPrefix(fn.Name(), "Swap") ||
			strings.HasPrefix(fn.Name(), "CompareAndSwap")) {
			return &Use{Into: 1}
		}
		return lets
	case "sync":
		if fn.Name() == "Store" || fn.Name() == "LoadOrStore" || fn.Name() == "Swap" {
			return &Use{Into: 1}
		}
	case "regexp":
		if res := sig.Results(); res.Len() == 1 && types.Identical(res.At(0).Type(), types.Typ[types.Bool]) {
			return lets // it is read behind an interface
		}
	case "sort":
		if fn.Name() == "Slice" || fn.Name() == "SliceStable" { // they swap by reflection
			return lets
		}
	}
	if !slices.Contains(readers, path) || path == "errors" && fn.Name() == "New" {
		return nil
	}
	var use Use
	for r := range min(sig.Results().Len(), 32) { // functions like AppendInt return their first argument
		if t := sig.Results().At(r).Type(); n == 0 && sig.Recv() == nil && sig.Params().Len() > 0 &&
			types.Identical(t, sig.Params().At(0).Type()) && !IsString(t) {
			use.Returns |= 1 << r
		}
	}
	if sig.Recv() != nil || sig.Results().Len() > 0 && !onlyText(sig.Results()) && use.Returns == 0 {
		return nil // NewDecoder keeps its reader
	}
	return &use
}

// onlyText reports whether all results are strings, bytes, numbers or errors.
func onlyText(vars *types.Tuple) bool {
	return !anyType(vars.Variables(), func(t types.Type) bool { return refersLike(t) && !IsString(t) && !IsBytes(t) })
}

// refersLike reports whether t can refer to the memory of an argument. Errors are assumed not to.
func refersLike(t types.Type) bool {
	return refers(t, 0) && !isError(t)
}

// IsBytes reports whether the underlying type of t is []byte.
func IsBytes(t types.Type) bool {
	s, ok := t.Underlying().(*types.Slice)
	if !ok {
		return false
	}
	b, ok := s.Elem().Underlying().(*types.Basic)
	return ok && b.Kind() == types.Byte
}
