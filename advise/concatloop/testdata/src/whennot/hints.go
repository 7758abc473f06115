package whennot

// Each round begins anew, or joins once.
func dashed(words []string) (out []string) {
	for _, word := range words {
		line := "- "
		line += word
		out = append(out, line)
	}
	return out
}

// A number grows, not a text.
func length(words []string) (n int) {
	for _, word := range words {
		n += len(word)
	}
	return n
}
