package before

import (
	"fmt"
	"time"
)

type level string

// What has methods, or a type of its own, is formatted by Sprintf as what it
// is; a profile must say that it matters.
func named(l level, d time.Duration, t *time.Time) string {
	s := fmt.Sprintf("%s %v", l, d) // want `fixed shape`
	s += fmt.Sprintf("%s", t)
	return s + fmt.Sprintf("%d", d)
}
