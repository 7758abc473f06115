// Command lua runs a program in Lua that builds and walks tables.
package main

import (
	"log"

	lua "github.com/yuin/gopher-lua"
)

const program = `
local function tree(depth)
	if depth == 0 then return {} end
	return {tree(depth - 1), tree(depth - 1)}
end
local function count(t)
	if t[1] == nil then return 1 end
	return 1 + count(t[1]) + count(t[2])
end
local kept = tree(14)
local sum = 0
for i = 1, 150 do sum = sum + count(tree(10)) end
local words = {}
for i = 1, 100000 do words["word" .. (i % 2000)] = (words["word" .. (i % 2000)] or "") .. "." end
print(sum, count(kept), #words)
`

func main() {
	state := lua.NewState()
	defer state.Close()
	if err := state.DoString(program); err != nil {
		log.Fatal(err)
	}
}
