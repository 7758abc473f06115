package before

import (
	"encoding/binary"
	"io"
	"reflect"
)

type shape interface{ area() int }

type square struct{ side int }

func (s square) area() int { return s.side * s.side }

type debugger struct{ lines [][]any }

func (d *debugger) debugf(format string, args ...any) { d.lines = append(d.lines, args) }

var shapes []shape

func add(s shape) { shapes = append(shapes, s) }

func all(w io.Writer, squares []square, d *debugger, names []string) {
	for i, s := range squares {
		add(s)
		shapes = append(shapes, shape(s))
		d.debugf("%d", s.side) // want `s.side is boxed to be passed as any to debugf`
		d.debugf("%s", names[i])
		binary.Write(w, binary.BigEndian, s.side)
		if reflect.DeepEqual(s, squares[0]) {
			continue
		}
	}
}

func several(list ...shape) { shapes = append(shapes, list...) }

func pair(s square) {
	several(&square{}, s)
}
