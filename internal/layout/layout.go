// Package layout holds the tests that hold the module together: which package
// may import which, what the public libraries and go.mod may depend on, and
// what may be in git. It has no code of its own.
package layout
