package advice

import (
	"fmt"
	"io"
	"strings"

	"github.com/isobar-go/isobar/advise/check"
)

// Docs writes a page about the checks, in Markdown, made of nothing but what
// they say of themselves.
func Docs(w io.Writer, checks []*check.Check) error {
	var b strings.Builder
	b.WriteString("# The checks\n\nWritten by `isobar advise checks --markdown`: change the checks, not this page. " +
		"[advise.md](../advise.md) says how to\nuse them, [advise-quality.md](advise-quality.md) how well they do.\n\n")
	b.WriteString("| exercise | check | severity | Go versions | what is flagged |\n| ---: | --- | --- | --- | --- |\n")
	for _, c := range checks {
		number := ""
		if c.Exercise > 0 {
			number = fmt.Sprint(c.Exercise)
		}
		short, _ := cut(c)
		fmt.Fprintf(&b, "| %s | [%s](#%s) | %s | %s | %s |\n", number, c.Name, c.Name, c.Severity, c.Versions(),
			escape(short))
	}
	for _, c := range checks {
		short, rest := cut(c)
		fmt.Fprintf(&b, "\n## %s\n\n**%s.** %s\n\n", c.Name, escape(short), escape(rest))
		fmt.Fprintf(&b, "- When: %s\n- Silent: %s\n", escape(c.When), escape(c.WhenNot))
		if c.Measured != "" {
			fmt.Fprintf(&b, "- Measured: %s\n", escape(c.Measured))
		}
		if c.Exercise > 0 {
			fmt.Fprintf(&b, "- Repeat: `isobar lab run exercises --exercise %d --variant before,after`\n", c.Exercise)
		}
		fmt.Fprintf(&b, "- Go versions: %s; severity: %s\n- Silence a line: `//isobar:ignore %s REASON`\n", c.Versions(),
			c.Severity, c.Name)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cut splits the documentation of c into its first line and one paragraph.
func cut(c *check.Check) (short, rest string) {
	short, rest, _ = strings.Cut(strings.TrimSpace(c.Doc), "\n")
	return short, strings.Join(strings.Fields(rest), " ")
}

// escape keeps code from being read as Markdown.
func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;", "[", `\[`, "_", `\_`).Replace(s)
}
