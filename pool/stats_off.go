//go:build isobar_nostats

package pool

// counting tells whether Gets and Puts are counted.
const counting = false
