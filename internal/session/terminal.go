package session

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/isobar-go/isobar/internal/show/text"
)

// TerminalWidth returns the columns of w if it is a terminal that understands escape
// sequences, else 0.
func TerminalWidth(w io.Writer) int {
	f, isFile := w.(*os.File)
	if !isFile || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 40 {
		width = 80
	}
	return width
}

// A liveLine is a terminal line that is rewritten in place; it is silent elsewhere.
type liveLine struct {
	w     io.Writer
	width int // 0: no terminal
}

func newLiveLine(w io.Writer) liveLine { return liveLine{w, TerminalWidth(w)} }

// say replaces the line by as much of s as fits.
func (l liveLine) say(s string) {
	if l.width > 0 {
		fmt.Fprintf(l.w, "\r\x1b[K%.*s", l.width-1, s)
	}
}

// Clear removes the line, so that other output can follow.
func (l liveLine) Clear() { l.say("") }

// Style is the style of standard output: in colour on a terminal unless
// NO_COLOR (no-color.org) is set, plain elsewhere.
func (se *Session) Style() text.Style {
	if width := TerminalWidth(se.Out); width > 0 {
		return text.Style{Color: os.Getenv("NO_COLOR") == "", Width: width}
	}
	return text.Style{Width: 120}
}
