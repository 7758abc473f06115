//go:build !amd64

package lines

const hasPause = false

func pause() {}
