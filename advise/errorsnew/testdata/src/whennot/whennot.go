package whennot

import (
	"errors"
	"fmt"
)

// Short: inlined by Go 1.26, and nothing is gained.
func validateAmount(c int64) error {
	if c <= 0 {
		return errors.New("amount must be positive")
	}
	return nil
}

//go:noinline
func detailed(c int64) error {
	if c < 0 {
		return fmt.Errorf("amount %d: %w", c, errLate)
	}
	return errors.New(fmt.Sprint("amount ", c))
}

var errLate error

func init() {
	for i := range 10 {
		if i > 9 {
			defer println()
			errLate = errors.New("late")
		}
	}
}

//go:noinline
func wrapped(cause error) error {
	return fmt.Errorf("validate: %w", cause) // another one each time
}

type located struct{ line int }

func (l *located) Error() string { return "located" }

func (l *located) at(line int) error { return &located{line} }

// Another error each time.
//
//go:noinline
func locate(line int, cause *located) error {
	if line > 3 {
		return &located{line: line}
	}
	return cause.at(line)
}

var errAtOnce = func() error { return errLate }()
