package exercise

import (
	"fmt"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

var form = regexp.MustCompile(`^\w+ [1-5]\ntrade-off: .+(\n  .+)*\nwhen not: .+(\n  .+)*\nbefore: .+(\n  .+)*\nafter: .+$`)

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
	listsWhole(t)
	if Explain(0) != nil || Explain(len(All)+1) != nil {
		t.Error("an exercise that does not exist is explained")
	}
}

// notShown are checksums and sinks, which are irrelevant to an exercise.
var notShown = regexp.MustCompile(`^(sink.*|sumBytes|sumString)$`)

// listsWhole holds that each exercise lists its functions and all that they use.
func listsWhole(t *testing.T) {
	code := declarations()
	word := regexp.MustCompile(`\w+`)
	lists := regexp.MustCompile(`(?m)^before: (.*)\nafter: (.*)$`).FindAllStringSubmatch(words, -1)
	for i := range All {
		listed := map[string]bool{}
		for k, variant := range []string{"before", "after"} {
			for _, name := range strings.Fields(lists[i][1+k]) {
				if listed[name] = true; len(code[name]) == 0 {
					t.Errorf("%s lists %s, which does not exist", All[i].Name, name)
				}
			}
			full := runtime.FuncForPC(reflect.ValueOf(All[i].Variants[variant]).Pointer()).Name()
			queue := []string{full[strings.LastIndexByte(full, '.')+1:]}
			for seen := map[string]bool{}; len(queue) > 0; {
				name := queue[0]
				if queue = queue[1:]; seen[name] || notShown.MatchString(name) || len(code[name]) == 0 {
					continue
				}
				if seen[name] = true; !listed[name] {
					t.Errorf("%s, %s: %s is used and not listed", All[i].Name, variant, name)
				}
				queue = append(queue, word.FindAllString(strings.Join(code[name], " "), -1)...)
			}
		}
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
