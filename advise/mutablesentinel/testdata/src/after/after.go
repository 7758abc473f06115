package after

import (
	"errors"
	"fmt"
)

var ErrBadAmount = errors.New("bad amount")

func validate(c int64) error {
	if c <= 0 {
		return fmt.Errorf("%w: %d", ErrBadAmount, c)
	}
	return nil
}
