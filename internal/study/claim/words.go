package claim

import (
	"embed"
	"fmt"
	"strings"
)

// words has a file for each document with the texts of its claims. A claim
// begins with its ID on its own line. Each field follows as "name: text"; its
// further lines are indented.
//
//go:embed doc*.txt
var words embed.FS

// readWords gives the claims of a document their texts. Every claim must have
// texts, and every text a claim.
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
				return fmt.Errorf("line %d: %q is not a claim of this document, or occurs twice", n+1, line)
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
		return fmt.Errorf("%s has no text", id)
	}
	return nil
}

// field is the field with that name in a file of words, nil if there is none.
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
