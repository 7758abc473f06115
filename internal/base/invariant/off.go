//go:build !isobar_debug && !race

package invariant

// Enabled reports whether invariant checks, leak detection and poisoning are
// compiled in.
const Enabled = false
