package after

func upper(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] &^= 0x20
	}
	return string(b)
}
