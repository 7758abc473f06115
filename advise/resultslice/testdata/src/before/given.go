package before

func Words(s string) []string {
	out := make([]string, 0, 4) // want `Words allocates a slice for each caller`
	for range s {
		out = append(out, s)
	}
	return out
}
