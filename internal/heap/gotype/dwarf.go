package gotype

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Variable is a global variable.
type Variable struct {
	Name string
	Addr uint64
	Size uint64
	Type *Type // nil if only the symbol is known
}

// Attributes specific to Go.
const (
	goKind        = 0x2900 // kinds as in package reflect
	goElem        = 0x2902
	goRuntimeType = 0x2904 // offset of the type descriptor from the module's types
	goCaptured    = 0x2907 // offset of a captured variable in the function value
)

// Variables returns the global variables that DWARF describes, by address, and records what
// function values capture. bias is added to addresses.
func (t *Table) Variables(d *dwarf.Data, bias, types uint64) ([]Variable, error) {
	conv := converter{t: t, d: d, types: types, done: make(map[dwarf.Offset]*Type),
		first: make(map[string]dwarf.Offset), bound: make(map[string]uint64)}
	var all []Variable
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			return all, fmt.Errorf("gotype: DWARF: %w", err)
		}
		if e == nil {
			break
		}
		if e.Tag == dwarf.TagSubprogram && e.Children {
			conv.captured(r, e, bias)
			continue
		}
		if e.Tag != dwarf.TagCompileUnit {
			r.SkipChildren()
		}
		if e.Tag != dwarf.TagVariable {
			continue
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		location, _ := e.Val(dwarf.AttrLocation).([]byte)
		offset, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
		if !ok || name == "" || len(location) != 9 || location[0] != 3 { // DW_OP_addr
			continue
		}
		at := le.Uint64(location[1:])
		typ := conv.typ(offset)
		if typ == nil {
			continue
		}
		all = append(all, Variable{Name: name, Addr: at + bias, Size: typ.Size, Type: typ})
	}
	for method, pc := range conv.bound {
		r := d.Reader()
		r.Seek(conv.first[method])
		if e, err := r.Next(); err == nil && e != nil && conv.first[method] != 0 {
			conv.capture(pc, conv.field(e, boundReceiver))
		}
	}
	slices.SortFunc(all, func(a, b Variable) int { return cmp.Compare(a.Addr, b.Addr) })
	return all, nil
}

// boundReceiver is the offset of the receiver in a method value, such as x.Serve.
const boundReceiver = 8

// captured records the variables that values of the function capture, and reads to the end of its
// entry. The compiler omits them for functions that it also inlines.
func (c *converter) captured(r *dwarf.Reader, function *dwarf.Entry, bias uint64) {
	var vars []Field
	name, _ := function.Val(dwarf.AttrName).(string)
	pc, _ := function.Val(dwarf.AttrLowpc).(uint64)
	if method, ok := strings.CutSuffix(name, "-fm"); ok {
		c.bound[method] = pc + bias
	}
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			break
		}
		r.SkipChildren()
		if c.first[name] == 0 && e.Tag == dwarf.TagFormalParameter {
			c.first[name] = e.Offset
		}
		if offset, ok := number(e, goCaptured); ok {
			vars = append(vars, c.field(e, offset))
		}
	}
	c.capture(pc+bias, vars...)
}

// capture records the variables in values of the function at pc.
func (c *converter) capture(pc uint64, vars ...Field) {
	vars = slices.DeleteFunc(vars, func(f Field) bool { return f.Type == nil })
	if len(vars) > 0 {
		c.t.captured[pc] = &Type{Kind: reflect.Struct, Fields: vars}
	}
}

// field converts a captured variable. A variable captured by reference is named &name.
func (c *converter) field(e *dwarf.Entry, offset uint64) Field {
	name, _ := e.Val(dwarf.AttrName).(string)
	return Field{strings.TrimPrefix(name, "&"), offset, c.ref(e, dwarf.AttrType)}
}

// A converter turns DWARF types into ours. It prefers the type descriptor if the program has one.
type converter struct {
	t     *Table
	d     *dwarf.Data
	types uint64
	done  map[dwarf.Offset]*Type
	first map[string]dwarf.Offset // a function's first parameter, which is a method's receiver
	bound map[string]uint64       // function of method values, by method
}

func (c *converter) typ(at dwarf.Offset) *Type {
	if typ, ok := c.done[at]; ok {
		return typ
	}
	r := c.d.Reader()
	r.Seek(at)
	e, err := r.Next()
	if err != nil || e == nil {
		return nil
	}
	if offset, ok := number(e, goRuntimeType); ok && offset != 0 {
		if typ := c.t.At(c.types + offset); typ != nil {
			c.done[at] = typ
			return typ
		}
	}
	typ := &Type{}
	typ.Name, _ = e.Val(dwarf.AttrName).(string)
	typ.Size, _ = number(e, dwarf.AttrByteSize)
	c.done[at] = typ
	c.complete(typ, e, r)
	return typ
}

func number(e *dwarf.Entry, attr dwarf.Attr) (uint64, bool) {
	switch v := e.Val(attr).(type) {
	case int64:
		return uint64(v), true
	case uint64:
		return v, true
	}
	return 0, false
}

func (c *converter) ref(e *dwarf.Entry, attr dwarf.Attr) *Type {
	if at, ok := e.Val(attr).(dwarf.Offset); ok {
		return c.typ(at)
	}
	return nil
}

func (c *converter) complete(typ *Type, e *dwarf.Entry, r *dwarf.Reader) {
	n, _ := number(e, goKind)
	switch kind := reflect.Kind(n); {
	case kind == reflect.Map, kind == reflect.Chan, kind == reflect.Func, kind == reflect.String, kind == reflect.Slice:
		typ.Kind, typ.Size = kind, sizes[kind]
		typ.Elem = c.ref(e, goElem)
	case e.Tag == dwarf.TagSubroutineType:
		typ.Kind, typ.Size = reflect.Func, 8
	case kind == reflect.Interface:
		typ.Kind, typ.Size = kind, sizes[kind]
		under := c.ref(e, dwarf.AttrType)
		typ.Empty = under != nil && under.Name == "runtime.eface"
	case e.Tag == dwarf.TagPointerType:
		typ.Kind, typ.Size, typ.Elem = reflect.Pointer, 8, c.ref(e, dwarf.AttrType)
		if typ.Elem == nil || typ.Name == anyPointer {
			typ.Kind, typ.Elem = reflect.UnsafePointer, nil
		}
	case e.Tag == dwarf.TagTypedef:
		if under := c.ref(e, dwarf.AttrType); under != nil && under != typ {
			name := typ.Name
			*typ = *under
			typ.Name = name
		}
	case e.Tag == dwarf.TagArrayType:
		typ.Kind, typ.Elem = reflect.Array, c.ref(e, dwarf.AttrType)
		if child, err := r.Next(); err == nil && child != nil && child.Tag == dwarf.TagSubrangeType {
			typ.Len, _ = number(child, dwarf.AttrCount)
		}
		if typ.Elem == nil {
			typ.Kind = reflect.Invalid
		} else {
			typ.Size = max(typ.Size, typ.Len*typ.Elem.Size)
		}
	case e.Tag == dwarf.TagStructType && e.Children:
		c.members(typ, r)
	default:
		typ.NoPtr = true
	}
}

func (c *converter) members(typ *Type, r *dwarf.Reader) {
	typ.Kind = reflect.Struct
	for {
		m, err := r.Next()
		if err != nil || m == nil || m.Tag == 0 {
			return
		}
		r.SkipChildren()
		f := Field{Type: c.ref(m, dwarf.AttrType)}
		f.Name, _ = m.Val(dwarf.AttrName).(string)
		offset, ok := number(m, dwarf.AttrDataMemberLoc)
		if f.Offset = offset; ok && f.Type != nil {
			typ.Fields = append(typ.Fields, f)
		}
	}
}
