package trace

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func traceLine(n int) string {
	return fmt.Sprintf("gc %d @0.0%02ds 1%%: 0.013+0.52+0.003 ms clock, 0.027+0.1/0.3/0.2+0.007 ms cpu, "+
		"4->5->2 MB, 5 MB goal, 0 MB stacks, 0 MB globals, 2 P\n", n, n)
}

func TestFollow(t *testing.T) {
	one, two, three, long := traceLine(1), traceLine(2), traceLine(3), strings.Repeat("x", 5000)+"gc 1 @0\n"
	likely := "gc 5 @ home\ngc 1 @0.1 apples\n"
	for name, c := range map[string]struct {
		in, own      string
		cycles       []uint64
		mended, gaps int
	}{
		"whole lines":              {one + "hello\n" + two, "hello\n", []uint64{1, 2}, 0, 0},
		"behind an unfinished one": {"progress... " + one + two, "progress... ", []uint64{1, 2}, 1, 0},
		"a line in between":        {one[:20] + "hello\n" + one[20:] + two, "hello\n", []uint64{1, 2}, 1, 0},
		"two lines in between":     {one + two[:30] + "hello\nworld\n" + two[30:], "world\nhello\n", []uint64{1, 2}, 1, 0},
		"in between and before":    {"dots " + one[:40] + "hello\n" + one[40:], "dots hello\n", []uint64{1}, 1, 0},
		"a lost one":               {one + two[:30] + "\n" + three, two[:30] + "\n", []uint64{1, 3}, 0, 1},
		"an unfinished end":        {one + two[:30], two[:30], []uint64{1}, 0, 0},
		"looks like one":           {likely + one, likely, []uint64{1}, 0, 0},
		"a long line":              {long + one, long, []uint64{1}, 0, 0},
		"an endless line":          {strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20), nil, 0, 0},
		"nothing":                  {"", "", nil, 0, 0},
	} {
		whole := func(r io.Reader) io.Reader { return r }
		for _, reader := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, whole} {
			var own bytes.Buffer
			var got []uint64
			f, err := Follow(reader(strings.NewReader(c.in)), &own, func(c Cycle) { got = append(got, c.N) })
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !slices.Equal(got, c.cycles) || f.Mended != c.mended || f.Gaps != c.gaps || (f.Streams == 0) != (len(got) == 0) {
				t.Errorf("%s: cycles %v, %+v; want %v, %d mended, %d gaps", name, got, f, c.cycles, c.mended, c.gaps)
			}
			if own.String() != c.own {
				t.Errorf("%s: passed on %.200q, want %.200q", name, own.String(), c.own)
			}
		}
	}
}

// FuzzFollow: Follow loses none of the program's output, whatever the input.
func FuzzFollow(f *testing.F) {
	one := traceLine(1)
	f.Add([]byte(one + "hello\n" + one[:20] + "x\n" + one[20:]))
	f.Add([]byte("gc 1 @\ngc 2 @0.1s\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var own bytes.Buffer
		cycles := 0
		got, err := Follow(bytes.NewReader(in), &own, func(Cycle) { cycles++ })
		if err != nil || (got.Streams == 0) != (cycles == 0) {
			t.Fatalf("%d cycles, %+v, %v", cycles, got, err)
		}
		if cycles == 0 && own.Len() != len(in) { // a broken line is released late: the order may differ
			t.Fatalf("%q became %q", in, own.String())
		}
	})
}
