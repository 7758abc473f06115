package check

import (
	"go/ast"
	"go/constant"
	"strings"
)

// formatters are the functions of package fmt with a format, and the number of
// that argument.
var formatters = map[string]int{"Sprintf": 0, "Printf": 0, "Errorf": 0, "Fprintf": 1, "Appendf": 1}

// Verb returns the verb that formats argument i of call, of a function of
// package fmt with a constant format; '?' where that cannot be told, and 0 for
// anything else. What the format does not name has the verb '?', too.
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
	verbs, ok := Verbs(constant.StringVal(value))
	if !ok || i-at-1 >= len(verbs) {
		return '?'
	}
	return verbs[i-at-1]
}

// Verbs returns the verbs of a format in order; ok is false where it takes
// widths from arguments or names them by number.
func Verbs(format string) (verbs []byte, ok bool) {
	for {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			return verbs, true
		}
		format = strings.TrimLeft(format[at+1:], "+-# 0123456789.")
		switch {
		case format == "" || format[0] == '*' || format[0] == '[':
			return nil, false
		case format[0] != '%':
			verbs = append(verbs, format[0])
		}
		format = format[1:]
	}
}
