package yield

import _ "unsafe" // for go:linkname

// Local puts the goroutine at the end of its P's run queue. Unlike
// runtime.Gosched, it takes no lock and wakes no thread to look for work, so that
// it costs little where nothing else is runnable. The runtime looks at its poller
// only once the queue is empty, or every 10 ms, so whoever calls Local again and
// again must wait for something now and then.
//
// The runtime pushes goyield for packages outside it ("hall of shame" in
// runtime/proc.go); it needs no -checklinkname flag as of Go 1.27.
//
//go:linkname Local runtime.goyield
func Local()
