package check

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"
)

// A TextFunc says what a function of package strings does with its first argument, if
// package bytes has a function with the same meaning.
type TextFunc int

const (
	Finds  TextFunc = iota + 1 // searches or compares; package bytes takes a []byte for every argument
	Tells                      // searches; package bytes takes a []byte for the first argument only
	Cuts                       // returns parts of it
	Copies                     // returns a new string
)

// TextFuncs maps the names of those functions to what they do.
var TextFuncs = map[string]TextFunc{}

func init() {
	for kind, names := range map[TextFunc][]string{
		Finds: {"Contains", "Count", "EqualFold", "HasPrefix", "HasSuffix", "Index", "LastIndex"},
		Tells: {"ContainsAny", "ContainsRune", "IndexAny", "IndexByte", "IndexFunc", "IndexRune", "LastIndexAny",
			"LastIndexByte"},
		Cuts: {"Cut", "CutPrefix", "CutSuffix", "Fields", "Split", "SplitAfter", "SplitN", "FieldsSeq", "Lines", "SplitSeq",
			"Trim", "TrimLeft", "TrimPrefix", "TrimRight", "TrimSpace", "TrimSuffix"},
		Copies: {"Map", "Repeat", "Replace", "ReplaceAll", "Title", "ToLower", "ToUpper", "ToValidUTF8"},
	} {
		for _, name := range names {
			TextFuncs[name] = kind
		}
	}
}

// textArg returns the use of a string as argument number arg of fn.
func (u *user) textArg(cur inspector.Cursor, call *ast.CallExpr, fn *types.Func, arg int) Use {
	if fn.Pkg() == nil {
		return Hands
	}
	path, plain := fn.Pkg().Path(), fn.Signature().Recv() == nil
	use, ok := u.param(fn, arg)
	switch kind := TextFuncs[fn.Name()]; {
	case path == "strings" && plain && kind == Cuts && arg == 0:
		return Searches | u.expr(cur.Parent())
	case path == "strings" && plain && kind == 0:
		return Hands
	case path == "strings" && plain && kind != Copies: // or it is the string to search for
		return Searches
	case path == "strings" || Verb(u.Code, call, arg) != 0 || fn.Name() == "WriteString":
		return Formats
	case path == "strconv" || !ok && plain && Standard(fn):
		return Parses
	case !ok:
		return Hands
	}
	return use | Formats
}
