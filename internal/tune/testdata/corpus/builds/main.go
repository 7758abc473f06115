// Command builds evaluates build files in Starlark, and keeps what they declare.
package main

import (
	"fmt"
	"log"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

const file = `
def sources(name, n):
    return ["%s/%s_%d.go" % (name, name, i) for i in range(n)]

def closure(rules, name):
    seen, todo = {}, [name]
    for _ in range(len(rules)):
        if not todo:
            break
        at = todo.pop()
        if at in seen:
            continue
        seen[at] = True
        todo.extend(rules[at]["deps"])
    return sorted(seen.keys())

rules = {}
for i in range(60):
    name = "lib%d" % i
    rules[name] = {"name": name, "srcs": sources(name, 1 + i % 9), "deps": ["lib%d" % d for d in range(i // 2, i)][:4]}
all = {name: closure(rules, name) for name in rules}
`

func main() {
	kept := make([]starlark.StringDict, 6)
	size := 0
	for i := range 144 {
		thread := &starlark.Thread{Name: "build"}
		options := &syntax.FileOptions{TopLevelControl: true, GlobalReassign: true}
		globals, err := starlark.ExecFileOptions(options, thread, "BUILD", file, nil)
		if err != nil {
			log.Fatal(err)
		}
		kept[i%len(kept)] = globals
		size += globals["all"].(*starlark.Dict).Len()
	}
	fmt.Println(size, len(kept))
}
