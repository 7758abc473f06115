// Package rest says how to reach a cluster.
package rest

// Config reaches none.
type Config struct{}
