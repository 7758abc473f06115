// Command interfaces reads definitions of protocol buffers, and keeps those of the last files.
package main

import (
	"fmt"
	"log"
	"strings"

	"github.com/emicklei/proto"
)

func main() {
	kept := make([]*proto.Proto, 20)
	fields := 0
	for file := range 120 {
		var text strings.Builder
		fmt.Fprintf(&text, "syntax = \"proto3\";\npackage shop.v%d;\n", file)
		for m := range 60 {
			fmt.Fprintf(&text, "// Message%d says what changed.\nmessage Message%d {\n", m, m)
			for f := range 10 {
				fmt.Fprintf(&text, "  repeated string field_%d = %d [deprecated = false]; // of order %d\n", f, f+1, m)
			}
			text.WriteString("  enum Kind { UNKNOWN = 0; NEW = 1; OLD = 2; }\n}\n")
		}
		text.WriteString("service Shop {\n  rpc Change(Message1) returns (stream Message2);\n}\n")
		definition, err := proto.NewParser(strings.NewReader(text.String())).Parse()
		if err != nil {
			log.Fatal(err)
		}
		proto.Walk(definition, proto.WithMessage(func(m *proto.Message) { fields += len(m.Elements) }))
		kept[file%len(kept)] = definition
	}
	fmt.Println(fields, len(kept))
}
