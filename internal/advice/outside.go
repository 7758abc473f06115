package advice

import (
	"cmp"
	_ "embed" // the table
	"fmt"
	"strings"
	"sync"
)

// An alternative is what to give a function of the library, or to use in its
// place, so that it need not allocate.
type alternative struct {
	callee string // how its short name begins
	check  string
	text   string
	kept   string // what holds where somebody keeps the result; "" where nothing does
}

// Where somebody keeps the result of a call.
const (
	always = "=" // what holds where nobody does
	joined = "the text is needed, what formats it is not: a concatenation with strconv makes nothing else"
	grow   = "call Grow with the size first: what it outgrows is thrown away"
	read   = "where the size is known, read into a slice of that size: what ReadAll outgrows is thrown away"
)

var keptTexts = map[string]string{"joined": joined, "grow": grow, "read": read}

//go:embed assets/alternatives.txt
var alternativesTable string

// alternatives are of the standard library, the longer names first.
var alternatives = sync.OnceValue(func() (all []alternative) {
	dash := func(s string) string { return strings.TrimPrefix(s, "-") }
	for line := range strings.Lines(alternativesTable) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[0] != "#" {
			kept := cmp.Or(keptTexts[fields[2]], dash(fields[2]))
			all = append(all, alternative{fields[0], dash(fields[1]), strings.Join(fields[3:], " "), kept})
		}
	}
	return all
})

// call judges memory that a callee outside of the packages makes.
func (k *subject) call() {
	callee := k.e.Callee
	if callee == "" {
		callee = k.e.What
	}
	k.e.Verdict, k.e.Decides = Outside, k.life.where
	k.e.Remedy = fmt.Sprintf("%s makes it", callee)
	alt := alternativeTo(callee)
	held := !k.dies() || k.life.mixed
	// what the callee needs for itself is saved where something else takes its place
	k.idle = k.life.inside && (alt == nil || alt.kept != always && alt.kept != joined)
	switch {
	case alt == nil && growsBuffer(k.c.leaf) && !k.life.inside:
		k.e.Check = "bufferpercall"
		k.e.Remedy = callee + " writes to a buffer, which grows: keep that and Reset it, or Grow it to the size first"
	case !k.dies() && (alt == nil || alt.kept == ""):
		k.stays()
		k.e.Remedy = callee + " makes it; " + k.e.Remedy
	case held && alt != nil && alt.kept != "" && alt.kept != always:
		k.e.Check, k.e.Remedy = alt.check, callee+": "+alt.kept
	case alt != nil:
		k.e.Check, k.e.Remedy = alt.check, callee+": "+alt.text
		if alt.kept != always {
			k.conditions()
		}
	case k.life.kind == died:
		k.e.Remedy += "; nobody needs it after " + k.life.in + ": call it less often, or with memory that is used again"
		if k.life.beside != "" {
			k.conditions()
		}
	}
}

// alternativeTo is what to do in place of a call; nil for none.
func alternativeTo(callee string) *alternative {
	for _, a := range alternatives() {
		if strings.HasPrefix(callee, a.callee) {
			return &a
		}
	}
	return nil
}
