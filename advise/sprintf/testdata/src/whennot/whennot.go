package whennot

import (
	"errors"
	"fmt"
	"os"
)

var banner = fmt.Sprintf("%s %d", "isobar", 1)

func init() { banner = usage(3) }

// Only init calls it.
func usage(n int) string { return fmt.Sprintf("%s: %d arguments", os.Args[0], n) }

func width(n int) string { return fmt.Sprintf("%08d", n) }

func float(f float64) string { return fmt.Sprintf("%v", f) }

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
