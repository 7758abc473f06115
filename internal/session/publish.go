package session

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/isobar-go/isobar/internal/base/atomicfile"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/page"
)

// WriteReport writes the report atomically: the file is complete or absent.
func WriteReport(path string, run page.Run, analysis *stat.Analysis) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("report: %w: choose another place with --out FILE", err)
	}
	err := atomicfile.Write(path, 0o644, func(w io.Writer) error { return page.Write(w, run, analysis) })
	if err != nil {
		return fmt.Errorf("report: %s: %w: choose another place with --out FILE", path, err)
	}
	return nil
}

// ReportPath is the default place of a run's HTML report, beside the store.
func ReportPath(store string, run int64) string {
	return filepath.Join(filepath.Dir(store), "reports", fmt.Sprintf("run-%d.html", run))
}
