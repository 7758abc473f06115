package before

import (
	"errors"
	"fmt"
)

// validate is not inlined.
func validate(list []int64) error {
	for _, c := range list {
		if c <= 0 {
			return errors.New("amount must be positive") // want `return a package variable`
		}
		if c%1000 == 7 && len(list) > 1000 {
			return fmt.Errorf("amount must not end in 7") // want `made again in each call`
		}
		if err := validate(list[1:]); err != nil {
			return err
		}
		if err := validate(list[2:]); err != nil {
			return err
		}
	}
	return nil
}
