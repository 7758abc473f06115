package life

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

var (
	lets   = &Use{} // nobody holds it afterwards
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
			return lets
		}
		return &Use{Returns: 1}
	case "Read", "ReadAt", "ReadFull", "ReadFrom", "WriteTo", "Is":
		return lets
	}
	if Standard(m) && fills(sig) {
		return lets
	}
	return nil
}

// Standard reports whether fn is of the standard library.
func Standard(fn *types.Func) bool {
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
		if refers(v.Type(), 0) && !IsBytes(v.Type()) {
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
		return lets
	case "sync":
		if fn.Name() == "Put" && n == 1 {
			return pooled
		}
		if fn.Name() == "Store" || fn.Name() == "LoadOrStore" || fn.Name() == "Swap" {
			return &Use{Into: 1}
		}
	case "sort":
		switch fn.Name() {
		case "Slice", "SliceStable": // which swap by reflection
			return lets
		}
	}
	if !slices.Contains(readers, path) || path == "errors" && fn.Name() == "New" {
		return nil
	}
	var use Use
	for r := range min(sig.Results().Len(), 32) { // an error may hold what it is about; appended to is what comes first
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

// onlyText reports whether all results are texts, bytes, numbers or errors.
func onlyText(vars *types.Tuple) bool {
	for v := range vars.Variables() {
		if refersLike(v.Type()) && !IsString(v.Type()) && !IsBytes(v.Type()) {
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

// IsBytes reports whether the underlying type of t is []byte.
func IsBytes(t types.Type) bool {
	s, ok := t.Underlying().(*types.Slice)
	if !ok {
		return false
	}
	b, ok := s.Elem().Underlying().(*types.Basic)
	return ok && b.Kind() == types.Byte
}
