package before

import "strings"

type runeBuffer struct{ runes []rune }

func (b *runeBuffer) trim() {
	trimmed := strings.TrimRight(string(b.runes), " ") // want `the runes are encoded and copied for strings.TrimRight`
	b.runes = b.runes[:len([]rune(trimmed))]
}
