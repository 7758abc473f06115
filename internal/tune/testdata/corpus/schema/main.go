// Command schema compiles definitions of messages.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/bufbuild/protocompile"
)

func main() {
	const files, messages = 12, 120
	sources := map[string]string{}
	var names []string
	for f := range files {
		var b strings.Builder
		fmt.Fprintf(&b, "syntax = \"proto3\";\npackage p%d;\n", f)
		if f > 0 {
			fmt.Fprintf(&b, "import \"f%d.proto\";\n", f-1)
		}
		for m := range messages {
			fmt.Fprintf(&b, "// Message %d of file %d.\nmessage M%d {\n", m, f, m)
			for n := 1; n <= 12; n++ {
				fmt.Fprintf(&b, "  repeated string field_%d = %d;\n", n, n)
			}
			if f > 0 {
				fmt.Fprintf(&b, "  p%d.M%d other = 13;\n", f-1, (m*7)%messages)
			}
			b.WriteString("  enum Kind { NONE = 0; SOME = 1; }\n  Kind kind = 14;\n}\n")
		}
		name := fmt.Sprintf("f%d.proto", f)
		sources[name], names = b.String(), append(names, name)
	}
	compiler := protocompile.Compiler{MaxParallelism: 1,
		Resolver: &protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(sources)}}
	compiled, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		log.Fatal(err)
	}
	n := 0
	for _, f := range compiled {
		n += f.Messages().Len()
	}
	fmt.Println(n)
}
