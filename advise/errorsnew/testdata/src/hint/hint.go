package hint

import (
	"io"

	"example.com/errs"
)

const what = "number"

func read(n int, err error) error {
	defer println()
	switch n {
	case 1:
		return errs.NewInvalid(what) // want `makes the same error anew in each call`
	case 2:
		return errs.Errorf("%d is two", n) // want `an error is formatted in each call`
	case 3:
		return errs.Wrapf(err, "%d is three", n) // another one each time
	case 4:
		return errs.Wrapf(io.EOF, "four") // want `makes the same error anew in each call`
	}
	return nil
}
