// Package errs makes errors as packages of other modules do.
package errs

import "fmt"

func Errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

func Wrapf(err error, format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, err)...)
}

func WithCode(err error, text string) error { return fmt.Errorf("%s: %w", text, err) }

func NewInvalid(text string) error { return fmt.Errorf("invalid %s", text) }
