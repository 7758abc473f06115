package whennot

// The bytes are a part of what the receiver has: nothing is built.
type decoder struct{ b []byte }

func (d *decoder) bytes(n int) []byte {
	if len(d.b) < n {
		return []byte{}
	}
	part := d.b[:n]
	d.b = d.b[n:]
	return part
}

func (d *decoder) text(n int) string { return string(d.bytes(n)) }

func (d *decoder) trimmed(n int) string {
	part := d.bytes(n)
	for len(part) > 0 && part[0] == ' ' {
		part = part[1:]
	}
	return string(part)
}
