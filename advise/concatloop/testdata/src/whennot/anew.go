package whennot

// Set to another text, or empty in each round.
func rows(words []string, names map[string]string) (out []string) {
	row, cell := "", ""
	for _, word := range words {
		if len(word) > 3 {
			row = names[word]
		}
		row += word
		cell = ""
		cell += word + ","
		out = append(out, row, cell)
	}
	return out
}
