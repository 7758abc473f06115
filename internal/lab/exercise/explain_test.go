package exercise

import (
	"fmt"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

var form = regexp.MustCompile(`^\w+ [1-5]\ntrade-off: .+(\n  .+)*\nwhen not: .+(\n  .+)*$`)

// TestExplanations: each exercise has its texts, and code before and after that parses.
func TestExplanations(t *testing.T) {
	for i, block := range strings.Split(strings.TrimSpace(words), "\n\n") {
		if !form.MatchString(block) {
			t.Errorf("%q: want a name and difficulty, the trade-off, and when not", block)
		}
		if i >= len(All) {
			t.Fatalf("more texts than the %d exercises", len(All))
		}
	}
	for i := range All {
		e := Explain(i + 1)
		if e.Number != i+1 || e.Name != All[i].Name || strings.Count(e.Stars(), "★") != e.Difficulty {
			t.Errorf("%s: number %d, %s", All[i].Name, e.Number, e.Stars())
		}
		for when, code := range map[string]string{"before": e.Before, "after": e.After} {
			if lines := strings.Count(code, "\n"); lines < 1 || lines > 80 {
				t.Errorf("%s, %s: %d lines", All[i].Name, when, lines)
			}
			if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+code, 0); err != nil {
				t.Errorf("%s, %s: %v\n%s", All[i].Name, when, err, code)
			}
		}
	}
	if Explain(0) != nil || Explain(len(All)+1) != nil {
		t.Error("an exercise that does not exist is explained")
	}
}

func ExampleExplain() {
	e := Explain(4)
	fmt.Println(e.Stars(), e.WhenNot)
	fmt.Print(e.Before)
	// Output:
	// ★★☆☆☆ Two or three parts in one expression, which allocate once.
	// func concatBefore(in *Input) uint64 {
	// 	var s string
	// 	for i, f := range in.fields {
	// 		if i > 0 {
	// 			s += ","
	// 		}
	// 		s += f
	// 	}
	// 	sinkString = s
	// 	return in.turn ^ uint64(len(s))
	// }
}
