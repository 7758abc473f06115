//go:build !race

package invariant

// Race reports whether this is a race build.
const Race = false
