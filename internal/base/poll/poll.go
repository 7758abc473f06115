// Package poll waits for descriptors with epoll the way goroutines do: in the runtime's own
// poller, which takes no thread. Packages eventloop and http11 build their loops on it. It
// is for Linux; elsewhere the package is empty.
//
// The caller decides what an event means, who is notified and who owns a
// descriptor: the events are the kernel's. docs/adr/0008 has the reasons.
package poll
