// Package steps counts the instructions that compiled code executes, by running
// it one by one in a child process: on linux/amd64, where a process may be traced.
//
// The child is the test binary itself. Serve, called by an init function, runs
// there what Trace names, on the thread that the parent traces until main begins.
package steps
