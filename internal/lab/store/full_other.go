//go:build !linux && !darwin

package store

// diskFull is unknown here; SQLite's own report of a full disk must do.
func diskFull(string) bool { return false }
