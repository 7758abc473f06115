package load

import (
	"bytes"
	"fmt"
	"strconv"
)

// discardChunks reads a body in chunks and its trailer (RFC 9112, 7.1).
func (c *client) discardChunks() error {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		digits, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(";"))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 31)
		if err != nil {
			return fmt.Errorf("chunk size %q: %w", digits, err)
		}
		if n == 0 {
			break
		}
		if _, err := c.in.Discard(int(n) + len("\r\n")); err != nil {
			return err
		}
	}
	for { // the trailer ends with an empty line
		line, err := c.in.ReadSlice('\n')
		if err != nil || len(bytes.TrimSpace(line)) == 0 {
			return err
		}
	}
}
