package life

import (
	"go/token"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Starts names the goroutine that a call starts, by go or by the method Go of a group; "" if it starts none.
func Starts(call ssa.CallInstruction) string {
	c := call.Common()
	if _, ok := call.(*ssa.Go); ok || ofGroup(c, "Go") {
		return calleeName(c)
	}
	return ""
}

// ofGroup reports whether a call is of the given method of a group of goroutines: sync.WaitGroup or errgroup.Group.
func ofGroup(c *ssa.CallCommon, method string) bool {
	fn := static(c)
	return fn != nil && fn.Name() == method && fn.Signature.Recv() != nil &&
		strings.HasSuffix(typeName(fn.Signature.Recv().Type()), "Group")
}

// waits reports whether a function waits for a group or a channel: what it starts may end before it returns.
func waits(fn *ssa.Function) (found bool) {
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			switch i := instr.(type) {
			case ssa.CallInstruction:
				found = found || ofGroup(i.Common(), "Wait")
			case *ssa.UnOp:
				found = found || i.Op == token.ARROW
			case *ssa.Select:
				return true
			}
		}
	}
	return found
}
