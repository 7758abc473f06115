package session

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/isobar-go/isobar/internal/show/text"
)

// IsTerminal reports whether w is a terminal, and its width in columns.
func IsTerminal(w io.Writer) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 40 {
		width = 80
	}
	return width, true
}

// Style is the style of standard output: in colour on a terminal unless
// NO_COLOR (no-color.org) is set, plain elsewhere.
func (se *Session) Style() text.Style {
	width, terminal := IsTerminal(se.Out)
	if !terminal {
		return text.Style{Width: 120}
	}
	return text.Style{Color: os.Getenv("NO_COLOR") == "", Width: width}
}
