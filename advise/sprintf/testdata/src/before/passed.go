package before

import (
	"fmt"
	"io"
)

func each(w io.Writer, ids []int) error {
	for _, id := range ids {
		if err := one(w, id); err != nil {
			return err
		}
	}
	return nil
}

// Handing on an error is no error path.
func one(w io.Writer, id int) error { return two(w, fmt.Sprintf("%d", id)) } // want `fixed shape`

func two(w io.Writer, id string) error {
	_, err := io.WriteString(w, fmt.Sprintf("%s;", id)) // want `fixed shape`
	return err
}
