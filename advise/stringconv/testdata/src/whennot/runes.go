package whennot

import "strings"

type runeText struct {
	runes []rune
	all   []string
}

// Kept, and one rune.
func (t *runeText) add(r rune) bool {
	t.all = append(t.all, string(t.runes))
	return strings.Contains(t.all[0], string(r))
}
