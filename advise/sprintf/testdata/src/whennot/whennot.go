package whennot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

var banner = fmt.Sprintf("%s %d", "isobar", 1)

func init() { banner = usage(3) }

// Only init calls it.
func usage(n int) string { return fmt.Sprintf("%s: %d arguments", os.Args[0], n) }

func width(n, w int) string { return fmt.Sprintf("%0*d", w, n) }

func complexNumber(c complex128) string { return fmt.Sprintf("%v", c) }

func printed(w io.Writer, sb *strings.Builder, n int, v any) string {
	fmt.Fprintf(os.Stderr, "%d", n) // output costs more
	fmt.Fprintln(w, v)
	fmt.Fprintf(sb, "%T", v)
	return fmt.Sprint(v) + fmt.Sprint(n, v)
}

func kind(v any) string { return fmt.Sprintf("%T %p", v, v) }

func wrong(n int) string { return fmt.Sprintf("%d %d", n) }

func dynamic(format string, n int) string { return fmt.Sprintf(format, n) }

func failing(n int) error {
	if n > 3 {
		return errors.New(fmt.Sprintf("%d is above %d", n, 3))
	}
	if err := failing(n + 1); err != nil {
		fmt.Println(fmt.Sprintf("%d failed", n))
	}
	if n < 0 {
		panic(fmt.Sprintf("%d is negative", n))
	}
	return nil
}

func ignored(n int) string {
	//isobar:ignore sprintf called once a day
	return fmt.Sprintf("%d", n)
}

func ignoredByTabs(n int) string {
	//isobar:ignore	sprintf	called once a day
	return fmt.Sprintf("%d", n)
}

type coded struct {
	code int
	text string
}

func (c *coded) Error() string { return c.text }

func newError(code int, text string) error { return &coded{code, text} }

func codes(list []int) error {
	for _, n := range list {
		if n > 1000 {
			return newError(n, fmt.Sprintf("%d is above", n))
		}
		if n < -1000 {
			return &coded{n, fmt.Sprintf("%d is below", n)}
		}
	}
	return nil
}

// Of a value of no known type only the text is made.
func syntax(v any) string { return fmt.Sprintf("%#v", v) }

func detail(err error) string { return fmt.Sprintf("failed: %+v", err) }
