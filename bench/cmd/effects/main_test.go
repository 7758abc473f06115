package main

import (
	"fmt"
	"strings"
	"testing"
)

// export writes a run of two switches over some blocks: a multiplies by 2, b
// adds 10, a block multiplies all by its number.
func export(blocks int) string {
	var b strings.Builder
	b.WriteString("run,cell,block,key,a,b,live,failure,metric,unit,value\n")
	level := map[bool]string{true: "on", false: "off"}
	for block := 1; block <= blocks; block++ {
		for i := range 4 {
			v := 100.0
			if i&1 == 1 {
				v *= 2
			}
			if i&2 == 2 {
				v += 10
			}
			fmt.Fprintf(&b, "1,%d,%d,k,%s,%s,0,,/op/time:ns,ns,%v\n", i, block, level[i&1 == 1], level[i&2 == 2], v*float64(block))
			fmt.Fprintf(&b, "1,%d,%d,k,%s,%s,1GB,,/op/time:ns,ns,1\n", i, block, level[i&1 == 1], level[i&2 == 2])
			fmt.Fprintf(&b, "1,%d,%d,k,%s,%s,0,,/wall:seconds,seconds,7\n", i, block, level[i&1 == 1], level[i&2 == 2])
		}
	}
	return b.String()
}

// without returns an export without the lines that contain a text.
func without(export, text string) string {
	var b strings.Builder
	for line := range strings.Lines(export) {
		if !strings.Contains(line, text) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestEffects(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"a", "b"}, strings.NewReader(without(export(6), ",1GB,")), &out); err != nil {
		t.Fatal(err)
	}
	// a: 200/100 and 210/110; b: 110/100 and 210/200.
	for _, want := range []string{
		"| a | 1.95 | [1.95, 1.95] | +350 | [+100, +600] | 1.91 | 2 | worse |",
		"| b | 1.07 | [1.07, 1.07] | +35 | [+10, +60] | 1.05 | 1.1 | worse |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
}

func TestEffectsRefuses(t *testing.T) {
	whole := without(export(5), ",1GB,")
	lacking := strings.Replace(whole, "1,3,5,k,on,on,0,,/op/time:ns,ns,1050\n", "", 1)
	for _, c := range []struct {
		args []string
		in   string
		want string
	}{
		{nil, whole, "no switches"},
		{[]string{"c"}, whole, "no column c"},
		{[]string{"live"}, whole, `live has the level "0"`},
		{[]string{"-metric", "/none:ns", "a"}, whole, "no values"},
		{[]string{"a", "b"}, lacking, "lacks a configuration"},
		{[]string{"a", "b"}, strings.Replace(whole, ",0,,/wall", ",0,timeout,/wall", 1), "a cell failed (timeout)"},
	} {
		var out strings.Builder
		if err := run(c.args, strings.NewReader(c.in), &out); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.args, err, c.want)
		}
	}
}

func TestAgainst(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"-against", "a=off"}, strings.NewReader(export(6)), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| b | live | a | /op/time:ns | interval | ratio to off | interval | verdict |",
		"| off | 0 | off | 350 | [100, 600] | | | |",
		"| off | 0 | on | 700 | [200, 1200] | 2 | [2, 2] | worse |",
		"| on | 0 | on | 735 | [210, 1260] | 1.91 | [1.91, 1.91] | worse |",
		"| on | 1GB | on | 1 | [1, 1] | 1 | [1, 1] | no difference shown |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
	for versus, want := range map[string]string{"c=off": "no column c", "a=half": "a is never half"} {
		if err := run([]string{"-against", versus}, strings.NewReader(export(6)), &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", versus, err, want)
		}
	}
}
