-- Has each thread of wrk stop after 5,000 answers: -s enough.lua.
local answers = 0

response = function()
	answers = answers + 1
	if answers == 5000 then
		wrk.thread:stop()
	end
end
