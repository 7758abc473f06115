-- Has wrk send 16 requests in one go on each connection: -s pipeline.lua.
local batch

dofile("enough.lua")

init = function()
	local requests = {}
	for i = 1, 16, 4 do
		requests[i] = wrk.format("GET", "/echo/" .. i)
		requests[i + 1] = wrk.format("GET", "/files/small.txt")
		requests[i + 2] = wrk.format("POST", "/upload", nil, string.rep("x", 1000 * i))
		requests[i + 3] = wrk.format("GET", "/api/notes")
	end
	batch = table.concat(requests)
end

request = function() return batch end
