package load

import (
	"bytes"
	"io"
	"net/http/httputil"
)

// discardChunks reads a body in chunks and its trailer (RFC 9112, 7.1).
func (c *client) discardChunks() error {
	if _, err := io.Copy(io.Discard, httputil.NewChunkedReader(c.in)); err != nil {
		return err
	}
	for { // the trailer ends with an empty line
		line, err := c.in.ReadSlice('\n')
		if err != nil || len(bytes.TrimSpace(line)) == 0 {
			return err
		}
	}
}
