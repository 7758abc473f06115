package http11

import (
	"regexp"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// raceOrDebug says that checks, which allocate, are compiled in.
const raceOrDebug = invariant.Enabled

var dateField = regexp.MustCompile(`Date: [^\r]*`)
