package trace

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
)

const sample = "gc 2 @0.001s 17%: 0.10+0.070+0.002 ms clock, 0.20+0/0.089/0.006+12 ms cpu, 3->4->1 MB, 4 MB goal, 0 MB stacks, 2 MB globals, 2 P (forced)"

func TestParseLine(t *testing.T) {
	got, err := ParseLine(sample)
	want := Cycle{
		N: 2, AtNs: 1e6, Percent: 17, SweepNs: 100e3, MarkNs: 70e3, TerminationNs: 2e3,
		CPUNs: 200e3 + 89e3 + 12e6, DedicatedNs: 89e3, IdleNs: 6e3, StartBytes: 3 << 20, EndBytes: 4 << 20, LiveBytes: 1 << 20, GoalBytes: 4 << 20, GlobalBytes: 2 << 20,
		Procs: 2, Forced: true,
	}
	if err != nil || got != want {
		t.Errorf("ParseLine = %+v, %v; want %+v", got, err, want)
	}
	off, err := ParseLine(strings.Replace(sample, "4 MB goal", "17592186044415 MB goal", 1))
	if err != nil || off.GoalBytes < 1<<62 {
		t.Errorf("collection turned off: goal %d, %v", off.GoalBytes, err)
	}
	if got.PauseNs() != 102e3 || got.PauseCPUNs() != 12e6+200e3 {
		t.Errorf("PauseNs = %d, PauseCPUNs = %d", got.PauseNs(), got.PauseCPUNs())
	}
}

func TestParseLineRefuses(t *testing.T) {
	for _, line := range []string{
		"", "gc ", "gc 1", sample + " ", sample + "\n", " " + sample,
		strings.Replace(sample, " (forced)", " (force)", 1),
		strings.Replace(sample, "2 MB globals, ", "", 1),
		strings.Replace(sample, "0 MB stacks, ", "", 1),
		strings.Replace(sample, "0.070+", "0.070+1+", 1),
		strings.Replace(sample, "0.070", "0.0700", 1),
		strings.Replace(sample, "->4->", "->4-", 1),
		strings.Replace(sample, "4 MB goal", "9999999999999999999 MB goal", 1),
		strings.Replace(sample, "gc 2", "gc -2", 1),
		strings.Replace(sample, "3->", "3x->", 1),
	} {
		if c, err := ParseLine(line); err == nil {
			t.Errorf("ParseLine(%q) = %+v, want an error", line, c)
		} else if !strings.HasPrefix(err.Error(), "trace: parse ") {
			t.Errorf("ParseLine(%q): %v", line, err)
		}
	}
}

// fragments returns c in the pieces in which the runtime writes it.
func fragments(c Cycle) []string {
	ms := func(ns int64) string { return fmt.Sprintf("%.3f", float64(ns)/1e6) }
	mb := func(n int64) string { return fmt.Sprint(n >> 20) }
	f := []string{"gc ", fmt.Sprint(c.N), " @", fmt.Sprintf("%.3f", float64(c.AtNs)/1e9), "s ", fmt.Sprint(c.Percent), "%"}
	if c.Leaks {
		f = append(f, " (checking for goroutine leaks)")
	}
	first := c.PauseCPUNs() / 2e3 * 1e3 // of the two stops of the world
	f = append(f, ": ", ms(c.SweepNs), "+", ms(c.MarkNs), "+", ms(c.TerminationNs), " ms clock, ",
		ms(first), "+", ms(c.AssistNs), "/", ms(c.DedicatedNs), "/", ms(c.IdleNs), "+", ms(c.PauseCPUNs()-first), " ms cpu, ",
		mb(c.StartBytes), "->", mb(c.EndBytes), "->", mb(c.LiveBytes), " MB, ", mb(c.GoalBytes), " MB goal, ",
		mb(c.StackBytes), " MB stacks, ", mb(c.GlobalBytes), " MB globals, ", fmt.Sprint(c.Procs), " P")
	if c.Forced {
		f = append(f, " (forced)")
	}
	return append(f, "\n")
}

func randomCycle(r *rand.Rand, n uint64) Cycle {
	d := func() int64 { return int64(r.IntN(10_000_000)) * 1e3 }
	b := func() int64 { return int64(r.IntN(1<<16)) << 20 }
	assist, dedicated := d(), d()
	return Cycle{
		N: n, AtNs: int64(r.IntN(1e6)) * 1e6, Percent: int64(r.IntN(100)), SweepNs: d(), MarkNs: d(), TerminationNs: d(),
		CPUNs: assist + dedicated + d() + d(), AssistNs: assist, DedicatedNs: dedicated, IdleNs: d(),
		StartBytes: b(), EndBytes: b(), LiveBytes: b(), GoalBytes: b(), StackBytes: b(), GlobalBytes: b(),
		Procs: 1 + r.IntN(64), Forced: r.IntN(4) == 0, Leaks: r.IntN(4) == 0,
	}
}

// packets is a reader that returns one packet per Read.
type packets []string

func (p *packets) Read(b []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	*p = (*p)[1:]
	return n, nil
}

// TestReadPacketsSeparates puts the program's writes between the fragments of
// runtime lines at random and expects both back whole.
func TestReadPacketsSeparates(t *testing.T) {
	texts := []string{"hello\n", "gc is a word, 1 of many\n", "no end", " @", "panic: x\n", "7 apples\n", sample + "\n", "gc 1 @0.1s\n", "%: "}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var stream packets
		var want []Cycle
		var own strings.Builder
		relayed := 0
		atLineStart := true
		for n := range uint64(r.IntN(20)) {
			c := randomCycle(r, n+1)
			want = append(want, c)
			for i, f := range fragments(c) {
				stream = append(stream, f)
				for r.IntN(8) == 0 {
					s := texts[r.IntN(len(texts))]
					if i == 0 && s == " @" || i == 1 && s == " @" || i == 5 && s == "%: " {
						continue // looks like a runtime fragment
					}
					stream = append(stream, s)
					if s == sample+"\n" && atLineStart {
						relayed++
					} else {
						own.WriteString(s)
					}
					atLineStart = strings.HasSuffix(s, "\n")
				}
			}
		}
		var got strings.Builder
		trace, err := ReadPackets(&stream, &got)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(trace.Cycles, want) || trace.Gaps != 0 {
			t.Fatalf("seed %d: cycles %+v, %d gaps\nwant %+v", seed, trace.Cycles, trace.Gaps, want)
		}
		if got.String() != own.String() || trace.Relayed != relayed {
			t.Fatalf("seed %d: own output %q, %d relayed\nwant %q, %d", seed, got.String(), trace.Relayed, own.String(), relayed)
		}
	}
}

func TestReadPacketsTellsProcessesApart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var stream packets
	for n := range uint64(5) {
		for range 3 {
			stream = append(stream, fragments(randomCycle(r, n+1))...)
		}
	}
	stream = append(stream, fragments(randomCycle(r, 9))...)
	trace, err := ReadPackets(&stream, io.Discard)
	if err != nil || len(trace.Cycles) != 16 || trace.Streams != 4 || trace.Gaps != 1 {
		t.Errorf("%d cycles, %d streams, %d gaps, %v; want 16, 4 (one unexplained), 1", len(trace.Cycles), trace.Streams, trace.Gaps, err)
	}
}

// forms has a line of every format, in the runtime's fragments.
var forms = map[string]string{
	"go1.26": "gc |1| @|0.021|s |0|%|: |0.15|+|0.37|+|0.25| ms clock, |3.0|+|0.19|/|0.39|/|0.60|+|5.0| ms cpu, |" +
		"4|->|4|->|0| MB, |5| MB goal, |0| MB stacks, |0| MB globals, |48| P|\n",
	"go1.18": "gc |1| @|0.021|s |0|%: |0.15|+|0.37|+|0.25| ms clock, |3.0|+|0.19|/|0.39|/|0.60|+|5.0| ms cpu, |" +
		"4|->|4|->|0| MB, |5| MB goal, |0| MB stacks, |0| MB globals, |48| P|\n",
	"go1.6": "gc |1| @|0.021|s |0|%: |0.15|+|0.37|+|0.25| ms clock, |3.0|+|0.19|/|0.39|/|0.60|+|5.0| ms cpu, |" +
		"4|->|4|->|0| MB, |5| MB goal, |48| P|\n",
	"go1.5": "gc |1| @|0.021|s |0|%: |0.15|+|0.20|+|0.10|+|0.07|+|0.25| ms clock, |" +
		"3.0|+|0.19|+|0.1|+|0.19|/|0.1|/|0.60|+|5.0| ms cpu, |4|->|4|->|0| MB, |5| MB goal, |48| P|\n",
}

func TestFormsSinceGo15(t *testing.T) {
	for name, pieces := range forms {
		for _, end := range []string{"", " (forced)|"} {
			pieces := strings.Replace(pieces, "\n", end+"\n", 1)
			want := Cycle{
				N: 1, AtNs: 21e6, SweepNs: 150e3, MarkNs: 370e3, TerminationNs: 250e3,
				CPUNs: 3e6 + 190e3 + 390e3 + 5e6, AssistNs: 190e3, DedicatedNs: 390e3, IdleNs: 600e3,
				StartBytes: 4 << 20, EndBytes: 4 << 20, GoalBytes: 5 << 20, Procs: 48, Forced: end != "",
			}
			whole := strings.ReplaceAll(pieces, "|", "")
			if got, err := ParseLine(strings.TrimSuffix(whole, "\n")); err != nil || got != want {
				t.Errorf("%s: ParseLine = %+v, %v; want %+v", name, got, err, want)
			}
			stream := packets(strings.Split(pieces, "|"))
			if got, err := ReadPackets(&stream, io.Discard); err != nil || len(got.Cycles) != 1 || got.Cycles[0] != want {
				t.Errorf("%s: ReadPackets = %+v, %v; want %+v", name, got.Cycles, err, want)
			}
		}
	}
}

// TestPublishedLines reads lines from a blog post of 2017 about a benchmark on 48 CPUs,
// which omits those between numbers 17 and 6789.
func TestPublishedLines(t *testing.T) {
	lines, err := os.ReadFile("testdata/go1.9.log")
	if err != nil {
		t.Fatal(err)
	}
	var own bytes.Buffer
	got, err := ReadLines(bytes.NewReader(lines), &own)
	if err != nil || len(got.Cycles) != 19 || got.Gaps != 1 || own.Len() > 0 {
		t.Errorf("%d cycles, %d gaps, own %q, %v; want 19 and 1", len(got.Cycles), got.Gaps, own.String(), err)
	}
	if last := got.Cycles[18]; last.N != 6790 || last.Percent != 12 || last.Procs != 48 || last.LiveBytes != 1<<20 {
		t.Errorf("the last cycle is %+v", last)
	}
}

func TestReadPacketsLosesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		stream  packets
		own     string
		relayed int
	}{
		"unfinished line":  {packets{"gc ", "1", " @"}, "gc 1 @", 0},
		"cut by the end":   {packets{"x\n", "gc ", "47", " @", "0.236", "s "}, "x\n", 0},
		"literal word":     {packets{"gc ", "gc ", "x\n"}, "x\ngc gc ", 0},
		"no end of line":   {packets{"a\nb"}, "a\nb", 0},
		"relayed, no end":  {packets{sample}, "", 1},
		"relayed in parts": {packets{"x\n" + sample[:40], sample[40:] + "\ny\n"}, "x\ny\n", 1},
		"long line":        {packets{strings.Repeat("x", 3000), sample + "\n"}, strings.Repeat("x", 3000) + sample + "\n", 0},
		"numbers of dots":  {append(packets(fragments(Cycle{N: 1})[:1]), "1.2.3", "\n"), "\ngc 1.2.3", 0},
	} {
		var own strings.Builder
		trace, err := ReadPackets(&tc.stream, &own)
		if err != nil || own.String() != tc.own || trace.Relayed != tc.relayed || len(trace.Cycles) != 0 {
			t.Errorf("%s: own %.80q, %d relayed, %d cycles, %v; want %.80q, %d", name, own.String(), trace.Relayed, len(trace.Cycles), err, tc.own, tc.relayed)
		}
	}
}

// TestReadPacketsCut ends a program within its second line, after each fragment.
func TestReadPacketsCut(t *testing.T) {
	first, second := fragments(Cycle{N: 1}), fragments(Cycle{N: 2})
	for n := range len(second) - 1 {
		stream := append(append(packets{"x\n"}, first...), second[:n]...)
		var own strings.Builder
		if trace, err := ReadPackets(&stream, &own); err != nil || own.String() != "x\n" || len(trace.Cycles) != 1 ||
			(trace.Cut > 0) != (n > 0) {
			t.Errorf("cut after %q: own %q, %d cycles, %d bytes cut, %v", second[:n], own.String(), len(trace.Cycles),
				trace.Cut, err)
		}
	}
	stream := append(packets(first), "gc ", "7", " @")
	var own strings.Builder
	if _, err := ReadPackets(&stream, &own); err != nil || own.String() != "gc 7 @" {
		t.Errorf("of no process: own %q, %v", own.String(), err)
	}
}

func TestReadLines(t *testing.T) {
	var own strings.Builder
	trace, err := ReadLines(strings.NewReader("a\n"+strings.Replace(sample, "gc 2", "gc 1", 1)+"\nb\n"+sample+"\nc"), &own)
	if err != nil || len(trace.Cycles) != 2 || trace.Gaps != 0 || own.String() != "a\nb\nc" {
		t.Errorf("%d cycles, %d gaps, own %q, %v", len(trace.Cycles), trace.Gaps, own.String(), err)
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add(sample)
	f.Add(strings.Replace(sample, "17%:", "-1% (checking for goroutine leaks):", 1))
	for _, pieces := range forms {
		f.Add(strings.TrimSuffix(strings.ReplaceAll(pieces, "|", ""), "\n"))
	}
	f.Fuzz(func(t *testing.T, line string) {
		c, err := ParseLine(line)
		const longest = 1e15 // ns: phases of Go 1.5 add up to more than the format allows
		if err != nil || c.MarkNs >= longest || c.DedicatedNs >= longest {
			return
		}
		again, err := ParseLine(strings.TrimSuffix(strings.Join(fragments(c), ""), "\n"))
		if err != nil || again != c {
			t.Errorf("%q: %+v became %+v, %v", line, c, again, err)
		}
	})
}

// FuzzReadPackets cuts the input into packets at zero bytes: ReadPackets must
// neither lose nor invent a byte.
func FuzzReadPackets(f *testing.F) {
	f.Add([]byte(strings.Join(fragments(Cycle{N: 1, Procs: 4}), "\x00")))
	for _, pieces := range forms {
		f.Add([]byte(strings.ReplaceAll(pieces, "|", "\x00")))
	}
	f.Add([]byte("gc \x00gc \x001\x00" + sample + "\n"))
	f.Add([]byte("x\n\x00gc \x0047\x00 @\x000.236\x00s ")) // cut by the end
	f.Fuzz(func(t *testing.T, data []byte) {
		var stream packets
		total := 0
		for _, p := range bytes.Split(data, []byte{0}) {
			if len(p) > 0 && len(p) <= PacketBytes {
				stream = append(stream, string(p))
				total += len(p)
			}
		}
		var own bytes.Buffer
		trace, err := ReadPackets(&stream, &own)
		if err != nil {
			t.Fatal(err)
		}
		if len(trace.Cycles) == 0 && trace.Relayed == 0 && own.Len()+trace.Cut != total {
			t.Errorf("%d bytes in, %d out, %d cut", total, own.Len(), trace.Cut)
		}
		if own.Len()+trace.Cut > total {
			t.Errorf("%d bytes in, %d out, %d cut", total, own.Len(), trace.Cut)
		}
	})
}
