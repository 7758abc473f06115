package before

// The word begins anew only where it ends.
func fields(line string) (out []string) {
	word := ""
	for _, ch := range line {
		if ch == ' ' {
			out = append(out, word)
			word = ""
			continue
		}
		word += string(ch) // want `word is copied each time it grows, until it begins anew`
	}
	return append(out, word)
}

func lines(words []string) (out []string) {
	line := ""
	for _, w := range words {
		if len(line) > 80 {
			out = append(out, line)
			line = ""
		}
		line += w // want `line is copied each time it grows, until it begins anew`
	}
	return append(out, line)
}

func states(line string) (out []string) {
	var word string
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			out = append(out, word)
			word = ""
		default:
			word = word + line[i:i+1] // want `word is copied each time it grows, until it begins anew`
		}
	}
	return out
}
