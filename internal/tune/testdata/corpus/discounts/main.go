// Command discounts runs a script in Lua for each request, in a state of its own.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

const script = `
local rules = {}
for i = 1, 40 do rules[i] = { above = i * 10, percent = i % 7, name = "rule " .. i } end
local out = {}
for n = 1, 60 do
	local price, names = n * 7.5, {}
	for _, r in ipairs(rules) do
		if price > r.above then price = price * (100 - r.percent) / 100; names[#names + 1] = r.name end
	end
	out[n] = string.format("%.2f %s", price, table.concat(names, ","))
end
return table.concat(out, "\n")
`

func main() {
	chunk, err := parse.Parse(strings.NewReader(script), "discounts")
	if err != nil {
		log.Fatal(err)
	}
	code, err := lua.Compile(chunk, "discounts")
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/discounts", func(w http.ResponseWriter, r *http.Request) {
		l := lua.NewState()
		defer l.Close()
		l.Push(l.NewFunctionFromProto(code))
		if err := l.PCall(0, 1, nil); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, l.ToString(-1))
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
