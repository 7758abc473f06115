package before

import (
	"errors"
	"fmt"
	"io"
)

type coded struct {
	code int
	text string
}

func (c *coded) Error() string { return c.text }

type sender struct {
	errs chan error
}

func (s *sender) send(list []int, fail func(error)) error {
	defer println()
	for _, x := range list {
		switch x {
		case 1:
			return &coded{1, "one"}
		case 2:
			return &coded{x, "two"}
		case 3:
			fail(errors.New("three")) // want `the same error is made again`
		case 4:
			s.errs <- errors.New("four") // want `the same error is made again`
		case 6:
			return fmt.Errorf("%d is six", x)
		case 7:
			panic(errors.New("seven"))
		}
	}
	return nil
}

var errLimit = errors.New("limit")

func (s *sender) wait(n int, cause error) error {
	defer println()
	if n > 3 {
		return fmt.Errorf("wait: %w", errLimit)
	}
	return fmt.Errorf("wait: %w", io.EOF)
}
