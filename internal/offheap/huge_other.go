//go:build darwin || freebsd

package offheap

// adviseHuge does nothing: there is no such advice here.
func adviseHuge([]byte) {}
