// Package poll waits for descriptors with epoll, as goroutines wait: in the
// runtime's own poller, which takes no thread. Packages eventloop and http11
// build their loops on it. It is for Linux; elsewhere the package is empty.
//
// What an event means, who is told and who owns a descriptor is the caller's:
// the events are those of the kernel. docs/adr/0008 has the reasons.
package poll
