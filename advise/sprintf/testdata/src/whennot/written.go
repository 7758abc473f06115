package whennot

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

type money struct{ cents int64 }

// What has no shape of its own, what goes to the terminal or a table, and what others
// chose the format of.
func table(w io.Writer, prices []money, format string, args ...any) {
	tw := tabwriter.NewWriter(w, 0, 8, 1, ' ', 0)
	for i, p := range prices {
		fmt.Fprintf(tw, "%d\t%v\n", i, p)
		fmt.Fprintf(w, "%+v", p)
		fmt.Fprintln(os.Stdout, i)
		fmt.Fprintf(w, format, args...)
	}
	var buf bytes.Buffer
	fmt.Fprintf(&buf, format, args...)
}
