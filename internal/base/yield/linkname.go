package yield

import _ "unsafe" // for go:linkname

// Local puts the goroutine at the end of its P's run queue. Unlike runtime.Gosched, it
// takes no lock and wakes no thread to look for work, so it is cheap if nothing else is
// runnable. The runtime checks its poller only once the queue is empty, or every 10 ms, so
// a caller that loops on Local must block now and then.
//
// The runtime pushes goyield for packages outside it ("hall of shame" in
// runtime/proc.go); it needs no -checklinkname flag as of Go 1.27.
//
//go:linkname Local runtime.goyield
func Local()
