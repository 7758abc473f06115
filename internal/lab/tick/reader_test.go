package tick

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const header = "symbol,timestamp,price,volume,bid,ask,trade_id\n"

func readAll(t *testing.T, in string, config ReaderConfig) ([]Tick, *Reader, error) {
	t.Helper()
	r, err := NewReader(strings.NewReader(in), config)
	if err != nil {
		return nil, nil, err
	}
	ticks, err := drain(r.Read)
	return ticks, r, err
}

func drain(read func(*Tick) error) (ticks []Tick, err error) {
	for {
		var t Tick
		if err := read(&t); err != nil {
			if err == io.EOF {
				err = nil
			}
			return ticks, err
		}
		ticks = append(ticks, t)
	}
}

func TestReaderAccepts(t *testing.T) {
	plain := Tick{Symbol: "A", TimeNs: 1500000000, Price: 1.5, Volume: 7, Bid: 1.25, Ask: 1.75, TradeID: 9}
	odd := plain
	odd.Symbol = `B,"x"`
	negative := Tick{Symbol: "OIL", TimeNs: -1, Price: -37.63, Bid: math.Copysign(0, -1), Ask: 1e18, TradeID: math.MinInt64}
	for name, c := range map[string]struct {
		in   string
		want []Tick
	}{
		"no ticks":         {header, nil},
		"one":              {header + "A,1500000000,1.5,7,1.25,1.75,9\n", []Tick{plain}},
		"CRLF, empty line": {strings.ReplaceAll(header, "\n", "\r\n") + "A,1500000000,1.5,7,1.25,1.75,9\r\n\r\n", []Tick{plain}},
		"byte order mark":  {"\xef\xbb\xbf" + header + "A,1500000000,1.5,7,1.25,1.75,9\n", []Tick{plain}},
		"RFC 3339":         {header + "A,1970-01-01T01:00:01.5+01:00,1.5,7,1.25,1.75,9\n", []Tick{plain}},
		"exponents":        {header + "A,1500000000,15e-1,7,0.125E+1,+1.75,9\n", []Tick{plain}},
		"quotes":           {header + `"B,""x""","1500000000","1.5",7,1.25,1.75,"9"` + "\n", []Tick{odd}},
		"other order":      {"Ask,x,trade_id,BID,volume,y,price,timestamp,symbol\n1.75,,9,1.25,7,\"q,\",1.5,1500000000,A\n", []Tick{plain}},
		"extremes":         {header + "OIL,-1,-37.63,0,-0,1000000000000000000,-9223372036854775808\n", []Tick{negative}},
	} {
		got, _, err := readAll(t, c.in, ReaderConfig{})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

const good = "A,1,1,1,1,1,1\n"

func TestReaderRefuses(t *testing.T) {
	for _, c := range []struct{ in, position, text string }{
		{"", "1:1", "empty, want a header"},
		{"\n" + good, "1:1", "lacks symbol, timestamp, price, volume, bid, ask, trade_id"},
		{"symbol,timestamp,price,volume\n", "1:1", "lacks bid, ask, trade_id"},
		{"symbol,price,symbol\n", "1:14", "column symbol appears twice"},
		{"symbol,\"price\n", "1:8", "misplaced quote"},
		{header[:20], "1:21", "may be truncated"},
		{strings.Repeat("x", maxLineBytes+1), "1:65537", "more than 65536 bytes"},
		{header + "A\n", "2:2", "fewer fields"},
		{header + good + "A,1,1,1,1,1,1,\n", "3:15", "more fields"},
		{header + ",1,1,1,1,1,1\n", "2:1", `symbol "", want 1 to 64 bytes`},
		{header + strings.Repeat("A", 65) + ",1,1,1,1,1,1\n", "2:1", "symbol"},
		{header + "A\x00,1,1,1,1,1,1\n", "2:1", "symbol"},
		{header + "A,2026-02-30T00:00:00Z,1,1,1,1,1\n", "2:3", `timestamp "2026-02-30T00:00:00Z", want RFC 3339`},
		{header + "A,1.5,1,1,1,1,1\n", "2:3", "timestamp"},
		{header + "A,1,0x1p3,1,1,1,1\n", "2:5", `price "0x1p3", want a decimal number`},
		{header + "A,1,NaN,1,1,1,1\n", "2:5", "price"},
		{header + "A,1,1_0,1,1,1,1\n", "2:5", "price"},
		{header + "A,1,,1,1,1,1\n", "2:5", "price"},
		{header + "A,1,1,-1,1,1,1\n", "2:7", "volume"},
		{header + "A,1,1,9007199254740993,1,1,1\n", "2:7", "volume"},
		{header + "A,1,1,1, 1,1,1\n", "2:9", "bid"},
		{header + "A,1,1,1,1,2e18,1\n", "2:11", "ask"},
		{header + "A,1,1,1,1,1,9223372036854775808\n", "2:13", "trade_id"},
		{header + "A,1,1,1,1,1,\xff\n", "2:13", `"?"`},
		{header + "\"A\"x,1,1,1,1,1,1\n", "2:1", "misplaced quote"},
		{header + "A\"B,1,1,1,1,1,1\n", "2:1", "misplaced quote"},
		{header + "\"A,1,1,1,1,1,1\n", "2:1", "misplaced quote"},
		{header + "A,1,1,1,1,1,12", "2:15", "may be truncated"},
		{header + good + strings.Repeat("x", 3*maxLineBytes) + "\n", "3:65537", "more than 65536 bytes"},
	} {
		_, _, err := readAll(t, c.in, ReaderConfig{Name: "f.csv"})
		short := c.in[:min(len(c.in), 80)]
		if err == nil {
			t.Errorf("%q: no error", short)
			continue
		}
		if !strings.HasPrefix(err.Error(), "tick: read: f.csv:"+c.position+": ") || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: %v\nwant f.csv:%s: ... %s", short, err, c.position, c.text)
		}
	}
}

func TestReaderSkipsBadLines(t *testing.T) {
	in := header + good + "A,1\n" + strings.Repeat("x", 2*maxLineBytes) + "\n" + good + "\"\n" + good + "A,1,1,1,1,1,2"
	got, r, err := readAll(t, in, ReaderConfig{SkipBad: true})
	if err != nil || len(got) != 3 || r.Skipped() != 4 {
		t.Errorf("%d ticks, %d skipped, %v; want 3, 4, nil", len(got), r.Skipped(), err)
	}
	for _, tick := range got {
		if tick.TradeID != 1 {
			t.Errorf("a skipped line changed the tick: %+v", tick)
		}
	}
}

func TestReaderErrorStays(t *testing.T) {
	r, err := NewReader(strings.NewReader(header+"bad\n"+good), ReaderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var tick Tick
	first := r.Read(&tick)
	if second := r.Read(&tick); first == nil || second != first {
		t.Errorf("Read = %v, then %v; want the same error twice", first, second)
	}
}

func TestReaderBoundsSymbols(t *testing.T) {
	r, err := NewReader(strings.NewReader(header+"A,1,1,1,1,1,1\nB,1,1,1,1,1,1\n"), ReaderConfig{SkipBad: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range MaxSymbols - 1 {
		r.symbols[fmt.Sprint(i)] = ""
	}
	var tick Tick
	if err := r.Read(&tick); err != nil {
		t.Fatalf("the last symbol that fits: %v", err)
	}
	if err := r.Read(&tick); err == nil || !strings.Contains(err.Error(), ":3:1: more than 1048576 different symbols") {
		t.Errorf("one symbol too many: %v", err)
	}
}

func zipped(t testing.TB, n int64) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := Generate(&buf, GenerateConfig{Ticks: n, Symbols: 5, Rate: 1000, Seed: 1, Gzip: true}); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestReaderNoticesDamagedGzip: a compressed file that is cut anywhere or has a flipped bit is an
// error, with or without SkipBad.
func TestReaderNoticesDamagedGzip(t *testing.T) {
	whole := zipped(t, 200)
	if ticks, _, err := readAll(t, string(whole), ReaderConfig{}); err != nil || len(ticks) != 200 {
		t.Fatalf("whole: %d ticks, %v", len(ticks), err)
	}
	for n := 2; n < len(whole); n++ {
		_, _, err := readAll(t, string(whole[:n]), ReaderConfig{Name: "f.gz", SkipBad: n%2 == 0})
		if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "tick: read: f.gz:") ||
			!strings.Contains(err.Error(), "truncated") {
			t.Fatalf("cut at %d of %d: %v", n, len(whole), err)
		}
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	if _, _, err := readAll(t, string(flipped), ReaderConfig{SkipBad: true}); !errors.Is(err, gzip.ErrChecksum) {
		t.Errorf("damaged checksum: %v", err)
	}
}

func TestOpen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "misnamed.csv") // the content decides, not the name
	if err := os.WriteFile(name, zipped(t, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(name, false)
	if err != nil {
		t.Fatal(err)
	}
	ticks, err := drain(r.Read)
	if err != nil || len(ticks) != 3 {
		t.Errorf("%d ticks, %v", len(ticks), err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		if _, err := Open(name, false); err == nil || !strings.HasPrefix(err.Error(), "tick: ") || !strings.Contains(err.Error(), name) {
			t.Errorf("Open(%s): %v", name, err)
		}
	}
}

func TestReaderAllocatesNothingPerLine(t *testing.T) {
	var buf bytes.Buffer
	if err := Generate(&buf, GenerateConfig{Ticks: 3000, Symbols: 10, Rate: 1e6, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		buf.WriteString("SYM0001,2026-01-02T03:04:05.678901234-05:00,1.5,7,\"1.25\",1.75,9\nbad line\n")
	}
	r, err := NewReader(&buf, ReaderConfig{SkipBad: true})
	if err != nil {
		t.Fatal(err)
	}
	var tick Tick
	for range 500 { // until all symbols have been seen
		if err := r.Read(&tick); err != nil {
			t.Fatal(err)
		}
	}
	allocs := testing.AllocsPerRun(5000, func() {
		if err := r.Read(&tick); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a line, want 0", allocs)
	}
}

// Where parseTime accepts, it agrees with package time.
func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"0", "-5", "2026-01-02T03:04:05Z", "2024-02-29T23:59:59.999999999+23:59", "1677-09-21T00:12:43.145224192Z", "1677-09-21T00:12:43.145224191Z",
		"2262-04-11T23:47:16.854775807Z", "2262-04-11T23:47:16.854775808Z", "1970-01-01T00:00:00.000000001-00:01", "2024-02-29T23:59:59.999999999+24:59", "2026-13-01T00:00:00Z", "2026-01-02T03:04:60Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := parseTime([]byte(s))
		if n, isInt := parseInt([]byte(s)); isInt {
			if !ok || got != n {
				t.Fatalf("parseTime(%q) = %d, %v; want %d", s, got, ok, n)
			}
			return
		}
		want, err := time.Parse(time.RFC3339Nano, s)
		if ok && (err != nil || !time.Unix(0, got).Equal(want)) {
			t.Fatalf("parseTime(%q) = %d (%v); package time: %v, %v", s, got, time.Unix(0, got).UTC(), want, err)
		}
		// The converse, for times that the format can express. An offset has at most
		// 23 hours (RFC 3339, section 5.6); package time accepts 24.
		_, offset := want.Zone()
		day := 24 * 60 * 60
		if err == nil && want.Format(time.RFC3339Nano) == s && time.Unix(0, want.UnixNano()).Equal(want) && -day < offset && offset < day && !ok {
			t.Fatalf("parseTime(%q) refused %v", s, want)
		}
	})
}

// FuzzReader: for any input, reading ends without a panic, an error names a
// position, and the ticks read can be written and read back identically.
func FuzzReader(f *testing.F) {
	f.Add([]byte(header+good), false)
	f.Add([]byte("ask,trade_id,bid,volume,price,timestamp,symbol\r\n1,2,3,4,5,2026-01-02T03:04:05.6+07:00,\"\"\"\"\r\n"), true)
	f.Add(zipped(f, 3), true)
	f.Add([]byte(header+"A,1\n\n\"A,\""), true)
	f.Fuzz(func(t *testing.T, in []byte, skip bool) {
		r, err := NewReader(bytes.NewReader(in), ReaderConfig{Name: "f", SkipBad: skip})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "tick: read: f:1:") {
				t.Fatalf("header: %v", err)
			}
			return
		}
		ticks, err := drain(r.Read)
		if err != nil && !strings.HasPrefix(err.Error(), "tick: read: f:") {
			t.Fatalf("%v", err)
		}
		checkRoundTrip(t, ticks)
	})
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("A", int64(1), 1.5, int64(7), 1.25, 1.75, int64(9))
	f.Add(`"`, int64(math.MinInt64), 5e-324, int64(MaxVolume), -1e18, 0.1, int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, symbol string, ns int64, price float64, volume int64, bid, ask float64, id int64) {
		tick := Tick{symbol, ns, price, volume, bid, ask, id}
		if validSymbol([]byte(symbol)) && validPrice(price) && validVolume(volume) && validPrice(bid) && validPrice(ask) {
			checkRoundTrip(t, []Tick{tick})
		}
	})
}

func checkRoundTrip(t *testing.T, ticks []Tick) {
	t.Helper()
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for i := range ticks {
		if err := w.Write(&ticks[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	again, _, err := readAll(t, buf.String(), ReaderConfig{})
	if err != nil || !slices.Equal(again, ticks) {
		t.Fatalf("round trip of %+v: %+v, %v", ticks, again, err)
	}
}

func BenchmarkRead(b *testing.B) {
	var buf bytes.Buffer
	if err := Generate(&buf, GenerateConfig{Ticks: 10_000, Symbols: 1000, Rate: 1e5, Seed: 1}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(buf.Len()))
	b.ReportAllocs()
	for b.Loop() {
		r, err := NewReader(bytes.NewReader(buf.Bytes()), ReaderConfig{})
		if err != nil {
			b.Fatal(err)
		}
		var t Tick
		for r.Read(&t) == nil {
		}
	}
}
