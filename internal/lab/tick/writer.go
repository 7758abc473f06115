package tick

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Writer writes ticks as CSV: the header, then one line per tick, with
// timestamps in nanoseconds since 1970 and numbers with enough digits to read
// back exactly. Call Flush at the end.
type Writer struct {
	out  *bufio.Writer
	line []byte // reused
}

// NewWriter returns a Writer with the header already written.
func NewWriter(w io.Writer) *Writer {
	out := bufio.NewWriterSize(w, 64<<10)
	out.WriteString(strings.Join(columns[:], ",") + "\n") // Flush returns an error
	return &Writer{out: out}
}

// Write writes one tick, which must be within the bounds of Reader.
func (w *Writer) Write(t *Tick) error {
	b := appendSymbol(w.line[:0], t.Symbol)
	b = strconv.AppendInt(append(b, ','), t.TimeNs, 10)
	b = appendPrice(append(b, ','), t.Price)
	b = strconv.AppendInt(append(b, ','), t.Volume, 10)
	b = appendPrice(append(b, ','), t.Bid)
	b = appendPrice(append(b, ','), t.Ask)
	b = strconv.AppendInt(append(b, ','), t.TradeID, 10)
	w.line = append(b, '\n')
	if _, err := w.out.Write(w.line); err != nil {
		return fmt.Errorf("tick: write: %w", err)
	}
	return nil
}

// Flush writes the buffered output.
func (w *Writer) Flush() error {
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("tick: write: %w", err)
	}
	return nil
}

func appendPrice(b []byte, f float64) []byte { return strconv.AppendFloat(b, f, 'f', -1, 64) }

func appendSymbol(b []byte, s string) []byte {
	if !strings.ContainsAny(s, `,"`) {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}
