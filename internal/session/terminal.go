package session

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/isobar-go/isobar/internal/show/text"
)

// IsTerminal reports whether w is a terminal that understands escape sequences, and its
// width in columns.
func IsTerminal(w io.Writer) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 40 {
		width = 80
	}
	return width, true
}

// A liveLine is the line of a terminal that is written again and again; it is
// silent elsewhere.
type liveLine struct {
	w     io.Writer
	width int // 0: no terminal
}

func newLiveLine(w io.Writer) liveLine {
	width, _ := IsTerminal(w)
	return liveLine{w, width}
}

// say replaces the line by as much of s as has room.
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
	width, terminal := IsTerminal(se.Out)
	if !terminal {
		return text.Style{Width: 120}
	}
	return text.Style{Color: os.Getenv("NO_COLOR") == "", Width: width}
}
