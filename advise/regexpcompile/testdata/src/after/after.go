package after

import (
	"regexp"
	"sync"
)

var slugRE = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

func isValidSlug(s string) bool { return slugRE.MatchString(s) }

var config struct{ pattern string }

var slugREOnce = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^" + config.pattern)
})

func isValidLazy(s string) bool { return slugREOnce().MatchString(s) }
