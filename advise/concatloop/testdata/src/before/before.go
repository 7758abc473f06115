package before

// The document's code.
func csvRow(fields []string) string {
	var s string
	for i, f := range fields {
		if i > 0 {
			s += "," // want `strings.Builder`
		}
		s += f
	}
	return s
}

func joined(rows [][]string) string {
	out := "head\n"
	for _, row := range rows {
		for _, f := range row {
			// the field
			out += f + ";" // want `strings.Builder`
		}
		out += "\n"
	}
	return out
}

func spelled(words []string) string {
	sb := ""
	for _, w := range words {
		sb = sb + w + " " // want `strings.Builder`
	}
	return sb
}

func read(words []string) (s string) {
	for _, w := range words {
		if len(s) > 80 {
			break
		}
		s += w // want `strings.Builder`
	}
	return s
}
