package advice

import (
	"strings"
	"testing"
)

// TestFlows: the report has the compiler's step, in whichever words this toolchain has it.
func TestFlows(t *testing.T) {
	x, _ := explainerOf(t, "package m\n\ntype p struct{ n int }\n\nfunc F() *p {\n\treturn &p{}\n}\n")
	x.dir = x.base
	sites := []Explained{{File: "m.go", Line: 6, What: "&p{…}"}}
	if x.flows(sites); !strings.Contains(sites[0].Flow, "return") || !strings.Contains(sites[0].Flow, "line 6") {
		t.Errorf("%q", sites[0].Flow)
	}
}
