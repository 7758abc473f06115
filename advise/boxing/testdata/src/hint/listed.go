package hint

import (
	"bytes"
	"encoding/binary"
)

type key struct {
	name    string
	columns []uint64
}

func (k key) encoded() []byte {
	var fields []any
	fields = append(fields, k.name) // want `k.name is boxed to be listed as any`
	for _, c := range k.columns {
		fields = append(fields, c) // want `c is boxed to be listed as any`
	}
	var b bytes.Buffer
	for _, f := range fields {
		switch f := f.(type) {
		case string:
			b.WriteString(f)
		case uint64:
			b.Write(binary.LittleEndian.AppendUint64(nil, f))
		}
	}
	return b.Bytes()
}

func pointers(ks []*key) (all []any) {
	for _, k := range ks {
		all = append(all, k)          // a pointer
		all = append(all, "constant") // in the program already
	}
	all = append(all, all...)
	return all
}
