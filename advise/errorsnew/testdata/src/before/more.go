package before

import (
	"errors"
	"fmt"
)

type stacked struct{ text string }

func (s *stacked) Error() string { return s.text }

// WithStack returns the error with the stack of the caller.
func (s *stacked) WithStack() error { return &stacked{s.text} }

type numbered struct{ code int }

func (n numbered) Error() string { return "numbered" }

const notFound = 404

var errGone = &stacked{"gone"}

func (s *sender) more(x int) (int, error) {
	defer println()
	errMissing := errors.New("missing")  // want `the same error is made again`
	var errLong = errors.New("too long") // want `the same error is made again`
	switch x {
	case 1:
		return 0, errGone.WithStack()
	case 2:
		return 0, numbered{notFound}
	case 3:
		return 0, &stacked{text: fmt.Sprintf("%d is three", x)}
	case 4:
		n, err := 0, errors.New("four") // want `the same error is made again`
		return n, err
	case 5:
		return 0, errMissing
	case 6:
		return 0, errLong
	}
	return 1, nil
}

var check = func(n int) error {
	if n < 0 {
		return errors.New("negative")
	}
	return nil
}
