package hint

import (
	"fmt"
	"os"
)

type logger struct{ w *os.File }

func (l *logger) printf(format string, args ...any) { fmt.Fprintf(l.w, format, args...) }

func (l *logger) debugf(format string, args ...any) {
	if l.w != nil {
		l.printf("debug: "+format, args...)
	}
}

func Printed(l *logger, counts []int) {
	for _, n := range counts {
		l.debugf("%d", n) // want `n is boxed to be passed as any to debugf`
	}
}

func Recursive(l *logger, depth int, args ...any) {
	for range depth {
		l.printf("%v", args...)
		Recursive(l, depth, depth) // want `depth is boxed to be passed as any to Recursive`
	}
}
