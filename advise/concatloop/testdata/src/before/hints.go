package before

import (
	"fmt"
	"strings"
)

type page struct{ text string }

func (p *page) add(words []string, m map[string]string) string {
	front, joined, printed, called := "", "", "", ""
	for _, w := range words {
		p.text += w                                     // want `p.text is copied each time it grows`
		m["all"] = m["all"] + w                         // want `m\["all"\] is copied each time`
		front = w + front                               // want `front is copied each time`
		joined = strings.Join([]string{joined, w}, ",") // want `joined is copied each time`
		printed = fmt.Sprintf("%s %s", printed, w)      // want `printed is copied each time`
	}
	each(words, func(w string) {
		called += w // want `called is copied each time`
	})
	return front + joined + printed + called
}

func each(words []string, f func(string)) {
	for _, w := range words {
		f(w)
	}
}

func steps(a, b string, on bool) string {
	s := a
	s += b // want `s is copied each time it grows; collect it in a strings.Builder, or join`
	if on {
		s += a
	}
	s += b
	s += a
	return s
}
