// Package fake is imported by the engine's own tests, which go mod tidy looks at.
package fake
