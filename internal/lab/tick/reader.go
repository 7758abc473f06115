package tick

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxLineBytes bounds a line. A longer one is malformed.
const maxLineBytes = 64 << 10

// ReaderConfig says how to read. The zero value is strict.
type ReaderConfig struct {
	// Name is the file's name in errors; "" for "input".
	Name string
	// SkipBad skips malformed lines and counts them. A bad header, a truncated
	// compressed stream or too many symbols remain errors.
	SkipBad bool
}

// A Reader reads ticks from CSV. It allocates only for a new symbol, for a
// longer line than before, and for numbers of more than 32 bytes.
//
// Errors read "tick: read: FILE:LINE:COLUMN: what, remedy". Lines and columns
// count from 1, columns in bytes.
type Reader struct {
	config  ReaderConfig
	lines   *bufio.Reader
	file    *os.File // nil if NewReader was given the source
	columns []int    // for each field, the index into the package's columns, or -1
	symbols map[string]string
	line    int64
	skipped int64
	err     error // sticky: io.EOF or the error that ended reading
}

// A fault says what is wrong with a line. The zero value means nothing is.
type fault struct {
	column int    // in bytes from 0
	text   string // what, remedy
	field  []byte // shown with text if one field is at fault
	fatal  bool   // SkipBad does not skip it
}

const misplacedQuote = "misplaced quote, put the whole field in quotes and double those inside"

// Open opens the named file. The caller closes the Reader.
func Open(path string, skipBad bool) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("tick: open: %w", err)
	}
	r, err := NewReader(f, ReaderConfig{Name: path, SkipBad: skipBad})
	if err != nil {
		f.Close()
		return nil, err
	}
	r.file = f
	return r, nil
}

// NewReader reads the header from src. It decompresses input that starts like
// gzip.
func NewReader(src io.Reader, config ReaderConfig) (*Reader, error) {
	config.Name = cmp.Or(config.Name, "input")
	r := &Reader{config: config, lines: bufio.NewReaderSize(src, maxLineBytes), symbols: make(map[string]string)}
	if magic, _ := r.lines.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(r.lines)
		if err != nil {
			return nil, r.sourceError(err, 0)
		}
		r.lines = bufio.NewReaderSize(z, maxLineBytes)
	}
	if bom, _ := r.lines.Peek(3); string(bom) == "\xef\xbb\xbf" {
		r.lines.Discard(3)
	}
	if err := r.readHeader(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Reader) readHeader() error {
	line, f, err := r.next()
	switch {
	case err == io.EOF:
		return r.faultError(fault{text: "the file is empty, want a header line: " + strings.Join(columns[:], ",")})
	case err != nil:
		return err
	case f.text != "":
		return r.faultError(f)
	}
	var seen [numColumns]bool
	for pos := 0; pos <= len(line); {
		field, next, ok := cutField(line, pos)
		if !ok {
			return r.faultError(fault{column: pos, text: misplacedQuote})
		}
		index := columnIndex(field)
		if index >= 0 && seen[index] {
			return r.faultError(fault{column: pos, text: "column " + columns[index] + " appears twice, remove one"})
		}
		if index >= 0 {
			seen[index] = true
		}
		r.columns = append(r.columns, index)
		pos = next
	}
	var missing []string
	for i, name := range columns {
		if !seen[i] {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return r.faultError(fault{text: "the header lacks " + strings.Join(missing, ", ") + ", want " +
			strings.Join(columns[:], ",") + " in any order"})
	}
	return nil
}

func columnIndex(name []byte) int {
	for i, c := range columns {
		if strings.EqualFold(string(name), c) {
			return i
		}
	}
	return -1
}

// Read stores the next tick in t. It returns io.EOF at the end of the input.
// After an error t is unspecified, and every later Read returns the same error.
func (r *Reader) Read(t *Tick) error {
	for r.err == nil {
		line, f, err := r.next()
		if err != nil {
			r.err = err
			break
		}
		if f.text == "" && len(line) == 0 {
			continue // an empty line
		}
		if f.text == "" {
			if f = r.parse(line, t); f.text == "" {
				return nil
			}
		}
		if f.fatal || !r.config.SkipBad {
			r.err = r.faultError(f)
			break
		}
		r.skipped++
	}
	return r.err
}

// next returns the next line without its line end, or what is wrong with it.
// The line is valid until the following call. err is what ends reading.
func (r *Reader) next() (line []byte, f fault, err error) {
	r.line++
	line, err = r.lines.ReadSlice('\n')
	switch {
	case err == nil:
		line = line[:len(line)-1]
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		return line, fault{}, nil
	case errors.Is(err, bufio.ErrBufferFull):
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.lines.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return nil, fault{}, r.sourceError(err, maxLineBytes)
		}
		return nil, fault{column: maxLineBytes, text: fmt.Sprintf("the line has more than %d bytes: is the file CSV?",
			maxLineBytes)}, nil
	case err == io.EOF && len(line) == 0:
		return nil, fault{}, io.EOF
	case err == io.EOF:
		return nil, fault{column: len(line),
			text: "the last line has no newline: the file may be truncated; get it again, or add the newline"}, nil
	}
	return nil, fault{}, r.sourceError(err, len(line))
}

// parse reads one record.
func (r *Reader) parse(line []byte, t *Tick) fault {
	count := 0
	for pos := 0; pos <= len(line); count++ {
		if count == len(r.columns) {
			return fault{column: pos, text: "more fields than the header has columns, quote those that hold a comma"}
		}
		field, next, ok := cutField(line, pos)
		if !ok {
			return fault{column: pos, text: misplacedQuote}
		}
		if index := r.columns[count]; index >= 0 && !r.set(t, index, field) {
			if index == colSymbol && validSymbol(field) {
				return fault{column: pos, fatal: true,
					text: fmt.Sprintf("more than %d different symbols: is the right column named symbol?", MaxSymbols)}
			}
			return fault{column: pos, field: field, text: columns[index] + " %q, " + wants[index]}
		}
		pos = next
	}
	if count < len(r.columns) {
		return fault{column: len(line), text: "fewer fields than the header has columns, complete the line"}
	}
	return fault{}
}

// set stores a field. It returns false if the field is not valid.
func (r *Reader) set(t *Tick, index int, field []byte) (ok bool) {
	switch index {
	case colSymbol:
		t.Symbol, ok = r.intern(field)
	case colTimestamp:
		t.TimeNs, ok = parseTime(field)
	case colPrice:
		t.Price, ok = parsePrice(field)
	case colVolume:
		t.Volume, ok = parseInt(field)
		ok = ok && validVolume(t.Volume)
	case colBid:
		t.Bid, ok = parsePrice(field)
	case colAsk:
		t.Ask, ok = parsePrice(field)
	case colTradeID:
		t.TradeID, ok = parseInt(field)
	}
	return ok
}

func parsePrice(field []byte) (float64, bool) {
	f, ok := parseFloat(field)
	return f, ok && validPrice(f)
}

// intern returns the Reader's single copy of a symbol. ok is false if the
// symbol is malformed or one too many.
func (r *Reader) intern(field []byte) (string, bool) {
	if s, ok := r.symbols[string(field)]; ok {
		return s, true
	}
	if !validSymbol(field) || len(r.symbols) == MaxSymbols {
		return "", false
	}
	s := string(field)
	r.symbols[s] = s
	return s, true
}

// Skipped is the number of malformed lines skipped so far.
func (r *Reader) Skipped() int64 { return r.skipped }

// Close closes the file that Open opened. Another goroutine may be in Read,
// which then fails.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

func (r *Reader) faultError(f fault) error {
	text := f.text
	if f.field != nil {
		text = fmt.Sprintf(text, bytes.ToValidUTF8(f.field[:min(len(f.field), 40)], []byte("?")))
	}
	if r.line > 1 && !f.fatal {
		text += " (--skip-bad on skips such lines)"
	}
	return fmt.Errorf("tick: read: %s:%d:%d: %s", r.config.Name, r.line, f.column+1, text)
}

// sourceError reports errors from below the lines: the file or the
// decompressor.
func (r *Reader) sourceError(err error, column int) error {
	remedy := "check the file"
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		remedy = "the compressed data is truncated, get the file again"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		remedy = "the compressed data is damaged, get the file again"
	}
	return fmt.Errorf("tick: read: %s:%d:%d: %w: %s", r.config.Name, max(r.line, 1), column+1, err, remedy)
}
