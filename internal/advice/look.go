package advice

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// look says, of what has no proven remedy, where one would have to begin: how it grew, what it
// is made for, and who decides how long it lives. It names places, and claims nothing of what
// could be changed there.
func (k *subject) look() {
	k.e.Verdict, k.e.Decides = Look, k.life.where
	if k.outside() {
		k.e.Verdict = Outside
	}
	var at []string
	for _, part := range []string{k.grown(), k.purpose(), k.hint, k.keeper()} {
		if part != "" {
			at = append(at, part)
		}
	}
	k.e.Remedy = strings.Join(at, "; ")
}

// grown says that the memory grew step by step, and where it began; "" where it did not.
func (k *subject) grown() string {
	if k.outside() || k.s.Kind != life.Append && k.s.Kind != life.MapGrow && k.growth.Loop == nil {
		return ""
	}
	text := "what is known beforehand of its final size"
	if n := len(k.t.sizes); n > 1 {
		text += fmt.Sprintf(", as it grows in up to %d steps", n)
	}
	switch begin := k.growth.Begin; {
	case k.growth.Field != "":
		text += ": field " + k.growth.Field + " has it between calls"
	case begin != nil && begin.Pos().IsValid():
		text += ": it begins at " + k.x.position(k.p, begin.Pos())
	}
	return text
}

// purpose says what takes the memory, where the expression itself tells.
func (k *subject) purpose() string {
	if k.outside() {
		return "the call of " + k.callee() + allocator(k.c) + ": whether each is needed, and what its package has instead"
	}
	to := k.consumer()
	switch k.s.Kind {
	case life.Box, life.Variadic, life.Convert:
		if to == "" {
			return ""
		}
		return to + ", which it is made for: " + map[life.Kind]string{life.Box: "it takes an interface",
			life.Variadic: "it takes a list of its last arguments", life.Convert: "it is given a copy"}[k.s.Kind]
	case life.Closure, life.MethodValue:
		return fmt.Sprintf("the function literal: it keeps %d variables of the function around it", k.s.Captures())
	case life.Go:
		return "the go statement: a goroutine is started each time"
	case life.Defer:
		return "the defer in a loop: what it keeps is released as the function returns"
	}
	return ""
}

// keeper says who decides how long the memory lives.
func (k *subject) keeper() string {
	l := &k.life
	needs := "what " + strings.Join(l.dyingIn(), " and ") + " needs it for"
	switch i := slices.IndexFunc(l.rest, func(o lifetime) bool { return o.kind > unproved }); {
	case l.kind == died && i >= 0 && l.rest[i].kind == escaped:
		return needs + "; for a part of it, " + l.rest[i].result()
	case l.kind == died && i >= 0:
		return needs + "; what keeps a part of it: " + l.rest[i].holder.String()
	case l.kind == kept && l.part > 0 && l.part < 0.5:
		return "what keeps it, as said above"
	case l.kind == kept:
		return "what keeps it: " + strings.TrimPrefix(l.held(), "kept by ")
	case l.kind == escaped:
		return "its callers, as " + l.result()
	case l.kind == unproved && k.outside():
		return ""
	case l.kind == unproved:
		return "who has it then: it " + l.open
	case k.elsewhere != nil:
		return "a path of the code that these benchmarks do not show: " + k.elsewhere.path()
	case l.up > 0 && len(l.callers) > 0:
		return "its callers, as " + l.result()
	}
	if k.e.Measured > 0 {
		return needs + ": nobody was seen to keep it longer"
	}
	return needs + ": the code shows nobody who keeps it longer"
}

// dyingIn are the functions with whose calls the parts die that die.
func (l *lifetime) dyingIn() []string {
	in := []string{l.in}
	for _, o := range l.rest {
		if o.kind == died && !slices.Contains(in, o.in) {
			in = append(in, o.in)
		}
	}
	return in
}

// shared reports whether the memory may lie in one block with what others make, which lives as
// long as any of them: small objects without pointers do.
func (k *subject) shared() bool {
	const tiny = 16 // bytes
	if k.e.Size > tiny {
		return false
	}
	texts := []life.Kind{life.Call, life.Concat, life.Convert}
	return k.outside() || slices.Contains(texts, k.s.Kind) || !check.HasPointers(k.s.Type)
}

// allocator names the function that allocates, where the line calls another.
func allocator(c *cause) string {
	if c.leaf == "" || c.leaf == c.callee || strings.HasPrefix(c.leaf, "runtime.") {
		return ""
	}
	return ", in which " + shortName(c.leaf) + " allocates"
}
