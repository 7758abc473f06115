package check

import (
	"go/ast"
	"go/constant"
	"strings"
)

// formatters maps the functions of package fmt that take a format to the index of that argument.
var formatters = map[string]int{"Sprintf": 0, "Printf": 0, "Errorf": 0, "Fprintf": 1, "Appendf": 1}

// Verb returns the verb that formats argument i of call, a call of a package fmt
// function with a constant format. It returns '?' if there is no such verb or it is
// unknown, and 0 if call is of another package.
func Verb(c *Code, call *ast.CallExpr, i int) byte {
	fn := c.Callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "fmt" {
		return 0
	}
	at, ok := formatters[fn.Name()]
	if !ok || i <= at || call.Ellipsis.IsValid() {
		return '?'
	}
	value := c.Info.Types[call.Args[at]].Value
	if value == nil || value.Kind() != constant.String {
		return '?'
	}
	pieces, _ := Pieces(constant.StringVal(value))
	for _, piece := range pieces {
		if piece.Verb == 0 {
			continue
		}
		if at++; at == i {
			return piece.Verb
		}
	}
	return '?'
}

// A Piece is a part of a format: literal text or a verb.
type Piece struct {
	Text   string
	Verb   byte // 0 for text
	Shaped bool // has flags, a width or a precision
}

// Pieces splits a format; ok is false if it is malformed, takes widths from arguments
// or numbers its arguments.
func Pieces(format string) (pieces []Piece, ok bool) {
	var text []byte
	flush := func() {
		if len(text) > 0 {
			pieces, text = append(pieces, Piece{Text: string(text)}), nil
		}
	}
	for {
		before, rest, more := strings.Cut(format, "%")
		text = append(text, before...)
		verb := strings.TrimLeft(rest, "+-# 0123456789.")
		switch {
		case !more:
			flush()
			return pieces, true
		case verb == "" || verb[0] == '*' || verb[0] == '[':
			return nil, false
		case verb[0] == '%':
			text = append(text, '%')
		default:
			flush()
			pieces = append(pieces, Piece{Verb: verb[0], Shaped: len(verb) < len(rest)})
		}
		format = verb[1:]
	}
}
