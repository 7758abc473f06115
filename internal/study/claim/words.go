package claim

import (
	"embed"
	"fmt"
	"strings"
)

// words has a file for each document: what its claims say. A claim begins with
// its ID on a line of its own; a field follows as "name: text", with its further
// lines indented.
//
//go:embed doc*.txt
var words embed.FS

// readWords gives the claims of a document their words. Each has some, and there
// are none of another claim.
func readWords(text string, claims []Claim) error {
	byID := make(map[string]*Claim, len(claims))
	for i := range claims {
		byID[claims[i].ID] = &claims[i]
	}
	var c *Claim
	var to *string
	for n, line := range strings.Split(text, "\n") {
		name, rest, isField := strings.Cut(line, ":")
		switch {
		case strings.TrimSpace(line) == "":
			c, to = nil, nil
		case c == nil:
			if c = byID[line]; c == nil {
				return fmt.Errorf("line %d: %q is no claim, or has its words twice", n+1, line)
			}
			delete(byID, line)
		case strings.HasPrefix(line, " ") && to != nil:
			*to += " " + strings.TrimSpace(line)
		case isField && c.field(name) != nil:
			to = c.field(name)
			*to = strings.TrimSpace(rest)
		default:
			return fmt.Errorf("line %d: %q: want a field of a claim", n+1, line)
		}
	}
	for id := range byID {
		return fmt.Errorf("%s has no words", id)
	}
	return nil
}

// field is the field of that name in a file of words; nil for none.
func (c *Claim) field(name string) *string {
	switch name {
	case "section":
		return &c.Section
	case "quote":
		return &c.Quote
	case "figure":
		return &c.Figure
	case "predicts":
		return &c.Predicts
	case "refutes":
		return &c.Refutes
	case "why":
		return &c.Why
	case "untestable":
		return &c.Untestable
	}
	return nil
}
