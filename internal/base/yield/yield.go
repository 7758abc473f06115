// Package yield lets the other goroutines of a P run first.
package yield
