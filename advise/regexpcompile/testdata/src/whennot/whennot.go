package whennot

import (
	"regexp"
	"sync"
)

func search(pattern string, text string) bool {
	re, err := regexp.Compile(pattern) // the user's
	return err == nil && re.MatchString(text)
}

func anyOf(patterns []string, text string) bool {
	for _, p := range patterns { // of the caller, who may give others next time
		if ok, _ := regexp.MatchString(p, text); ok {
			return true
		}
	}
	return false
}

var (
	once sync.Once
	re   *regexp.Regexp
)

func lazy() *regexp.Regexp {
	once.Do(func() { re = regexp.MustCompile("a+") })
	return re
}

type parser struct{ word *regexp.Regexp }

func newParser() *parser { return &parser{word: regexp.MustCompile(`\w+`)} }

func (p *parser) reset() { p.word = regexp.MustCompile(`\w*`) }

func init() {
	if !regexp.MustCompile("a").MatchString("a") {
		panic("no")
	}
}
