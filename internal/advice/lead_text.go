package advice

import (
	"cmp"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

func (k *subject) leadConcat() string {
	switch at, only := k.lookedUp(); {
	case only && k.life.kind != escaped:
		return "a struct of its parts is a key without a text"
	case at != "":
		return "a struct of its parts is a key without a text (" + at + ")"
	case k.life.kind == escaped:
		return "callers that use it as a key could use a struct of its parts, those that write it a buffer to append it to"
	case k.life.kind <= unproved:
		return k.again("one buffer, to append the parts to,")
	}
	return ""
}

// lookedUp returns the first place at which a text is the key of a map, "" for none, and whether it is nothing else.
func (k *subject) lookedUp() (at string, only bool) {
	only = true
	for _, use := range endsOf(k.p, k.s.Value) {
		switch i := use.(type) {
		case *ssa.Lookup:
			at = cmp.Or(at, k.x.position(k.p, i.Pos()))
		case *ssa.MapUpdate:
			at = cmp.Or(at, k.x.position(k.p, i.Pos()))
		default:
			only = false
		}
	}
	return at, only && at != ""
}

func (k *subject) leadConvert() string {
	made, ok := k.s.Value.(*ssa.Convert)
	if !ok {
		return ""
	}
	from, to, text := named(k.p.Pkg, made.X.Type()), named(k.p.Pkg, made.Type()), check.IsString(made.Type())
	at, _ := k.lookedUp()
	switch {
	case life.Only(made, looks): // which the compiler does without a copy where the conversion stands there
		return ""
	case text && check.IsBytes(made.X.Type()) && at != "":
		return "m[string(b)] looks bytes up without a copy (" + at + "): only a new key needs one"
	case text && check.IsInteger(made.X.Type()) && k.life.kind > unproved:
		return ""
	case text && check.IsInteger(made.X.Type()):
		return "WriteRune and utf8.AppendRune (Go 1.18) write it without a text"
	case !check.IsBytes(made.X.Type()) && !check.IsBytes(made.Type()): // runes, which it decodes or encodes
		switch {
		case k.life.kind > unproved:
			return ""
		case text:
			return "utf8.AppendRune (Go 1.18) writes its runes to a buffer that you keep"
		}
		return "range over the string decodes one rune after the other, where that is enough"
	case text && k.life.kind > unproved && k.p.Origin(made.X).OnlyFresh():
		return "a strings.Builder, where it is filled from the beginning, needs no copy at the end; nor does " +
			"unsafe.String (Go 1.20), if nobody changes the bytes afterwards"
	}
	for _, c := range takers(made) {
		if name := k.variant(c, made); name != "" {
			return name + " takes the " + from + " itself"
		}
		if fn := called(c); fn != nil && fn.Name() == "Write" && check.IsString(made.X.Type()) {
			if _, joined := made.X.(*ssa.BinOp); joined {
				return "io.WriteString, of one part after the other, needs no whole"
			}
			return "io.WriteString copies nothing where the Writer has WriteString; elsewhere " +
				k.again("one buffer, as append(b[:0], s...),")
		}
		if fn := called(c); fn != nil && k.own(fn) {
			return nameOf(fn) + " could take the " + from + " itself"
		}
	}
	if call, ok := made.X.(*ssa.Call); ok && life.Only(call, func(use ssa.Instruction) bool { return use == made }) {
		return "what makes the " + from + " could make or write the " + to + " itself"
	}
	if _, part := made.X.(*ssa.Slice); part && text && k.life.kind > unproved {
		return "parts of a string need no copy, and keep it whole: what it is cut from could be one"
	}
	switch {
	case k.life.kind <= unproved && text:
		return either(k.source(made.X, to),
			"while nobody changes what it copies, unsafe.String (Go 1.20) is the same text without a copy")
	case k.life.kind <= unproved:
		return k.again("one buffer, as append(b[:0], x...),")
	case text:
		return "where code of your own makes the " + from + ", it could make a " + to +
			"; or, of texts of which few differ, a map of those made, looked up by m[string(b)], has each once"
	}
	return "where code of your own makes the " + from + ", it could make a " + to
}

// source says that the field which a value comes from could have another type, or returns "".
func (k *subject) source(v ssa.Value, to string) string {
	field := ""
	switch v := v.(type) {
	case *ssa.Field:
		field = named(k.p.Pkg, v.X.Type()) + "." + v.X.Type().Underlying().(*types.Struct).Field(v.Field).Name()
	case *ssa.UnOp:
		if at, ok := v.X.(*ssa.FieldAddr); ok {
			field = k.fieldName(at)
		}
	}
	if field == "" {
		return ""
	}
	return "field " + field + " could be a " + to
}

// looks reports whether an instruction only compares a value, or looks it up in a map.
func looks(use ssa.Instruction) bool {
	_, lookup := use.(*ssa.Lookup)
	return lookup || compares(use)
}

// variant names the function that takes a text as it is before its conversion, or returns "".
func (k *subject) variant(c *ssa.CallCommon, v *ssa.Convert) string {
	fn := called(c)
	at := slices.Index(c.Args, ssa.Value(v))
	if fn == nil || fn.Pkg() == nil || at < 0 {
		return ""
	}
	other := map[string]string{"strings": "bytes.", "bytes": "strings."}[fn.Pkg().Path()]
	recv := fn.Signature().Recv()
	switch {
	case recv == nil && other != "" && fn.Name() != "NewBuffer" && fn.Name() != "NewReplacer":
		return other + fn.Name()
	case recv != nil && !c.IsInvoke():
		at--
	}
	if other := check.Sibling(fn, at); other != nil {
		return nameOf(other)
	}
	return ""
}
