package tick

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxLineBytes bounds a line. A longer one is malformed.
const maxLineBytes = 64 << 10

// A Reader reads ticks from CSV. It allocates only for a new symbol, and for
// numbers of more than 32 bytes.
//
// Errors read "tick: read: FILE:LINE:COLUMN: what, remedy". Lines and columns
// count from 1, columns in bytes.
type Reader struct {
	name    string // of the file, in errors
	lines   *bufio.Reader
	file    *os.File // nil if NewReader was given the source
	columns []int    // for each field, the index into the package's columns, or -1
	symbols map[string]string
	line    int64
	err     error // sticky: io.EOF or the error that ended reading
}

const misplacedQuote = "misplaced quote, put the whole field in quotes and double those inside"

// Open opens the named file. The caller closes the Reader.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("tick: open: %w", err)
	}
	r, err := NewReader(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.file = f
	return r, nil
}

// NewReader reads the header from src, which errors call by the name. It
// decompresses input that starts like gzip.
func NewReader(src io.Reader, name string) (*Reader, error) {
	r := &Reader{name: name, lines: bufio.NewReaderSize(src, maxLineBytes), symbols: make(map[string]string)}
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
	line, err := r.next()
	if err == io.EOF {
		return r.fault(0, "the file is empty, want a header line: %s", strings.Join(columns[:], ","))
	}
	if err != nil {
		return err
	}
	var seen [numColumns]bool
	for pos := 0; pos <= len(line); {
		field, next, ok := cutField(line, pos)
		if !ok {
			return r.fault(pos, misplacedQuote)
		}
		index := columnIndex(field)
		if index >= 0 && seen[index] {
			return r.fault(pos, "column %s appears twice, remove one", columns[index])
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
		return r.fault(0, "the header lacks %s, want %s in any order", strings.Join(missing, ", "),
			strings.Join(columns[:], ","))
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
		line, err := r.next()
		if err == nil && len(line) == 0 {
			continue // an empty line
		}
		if err == nil {
			err = r.parse(line, t)
		}
		r.err = err
		break
	}
	return r.err
}

// next returns the next line without its line end. The line is valid until the
// following call.
func (r *Reader) next() ([]byte, error) {
	r.line++
	line, err := r.lines.ReadSlice('\n')
	switch {
	case err == nil:
		return bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'}), nil
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, r.fault(maxLineBytes, "the line has more than %d bytes: is the file CSV?", maxLineBytes)
	case err == io.EOF && len(line) == 0:
		return nil, io.EOF
	case err == io.EOF:
		return nil, r.fault(len(line), "the last line has no newline: the file may be truncated; get it again, or add the "+
			"newline")
	}
	return nil, r.sourceError(err, len(line))
}

// parse reads one record.
func (r *Reader) parse(line []byte, t *Tick) error {
	count := 0
	for pos := 0; pos <= len(line); count++ {
		if count == len(r.columns) {
			return r.fault(pos, "more fields than the header has columns, quote those that hold a comma")
		}
		field, next, ok := cutField(line, pos)
		if !ok {
			return r.fault(pos, misplacedQuote)
		}
		if index := r.columns[count]; index >= 0 && !r.set(t, index, field) {
			if index == colSymbol && validSymbol(field) {
				return r.fault(pos, "more than %d different symbols: is the right column named symbol?", MaxSymbols)
			}
			return r.fault(pos, "%s %q, %s", columns[index], bytes.ToValidUTF8(field[:min(len(field), 40)], []byte("?")),
				wants[index])
		}
		pos = next
	}
	if count < len(r.columns) {
		return r.fault(len(line), "fewer fields than the header has columns, complete the line")
	}
	return nil
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

// Close closes the file that Open opened. Another goroutine may be in Read,
// which then fails.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// fault says what is wrong at a column, counted from 0, and the remedy.
func (r *Reader) fault(column int, format string, args ...any) error {
	return fmt.Errorf("tick: read: %s:%d:%d: %s", r.name, r.line, column+1, fmt.Sprintf(format, args...))
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
	return fmt.Errorf("tick: read: %s:%d:%d: %w: %s", r.name, max(r.line, 1), column+1, err, remedy)
}
