package session

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/isobar-go/isobar/internal/base/atomicfile"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/page"
)

// CheckReport returns the error that WriteReport would return now, so that it shows before
// measuring; nil for the default place, "".
func CheckReport(path string) error {
	if path == "" {
		return nil
	}
	return reportError(path, cmp.Or(os.MkdirAll(filepath.Dir(path), 0o755), atomicfile.Check(path)))
}

// WriteReport writes the report atomically: the file is complete or absent.
func WriteReport(path string, run page.Run, analysis *stat.Analysis) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = atomicfile.Write(path, 0o644, func(w io.Writer) error { return page.Write(w, run, analysis) })
	}
	return reportError(path, err)
}

func reportError(path string, err error) error {
	if err != nil {
		return fmt.Errorf("report: %s: %w: choose another place with --out FILE", path, err)
	}
	return nil
}

// ReportPath is the default place of a run's HTML report.
func ReportPath(store string, run int64) string {
	return filepath.Join(beside(store, "reports"), fmt.Sprintf("run-%d.html", run))
}

// RemoveReport removes the files at the default place of a run's report: the page, the log
// of its programs, and the files that deploy its answer.
func RemoveReport(store string, run int64) error {
	page := ReportPath(store, run)
	for _, path := range []string{page, LogPath(page), DeployPath(page)} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// LogPath is the file beside a report with the programs' output.
func LogPath(page string) string { return strings.TrimSuffix(page, ".html") + ".log" }

// DeployPath is the directory beside a report for the files that deploy its answer.
func DeployPath(page string) string { return strings.TrimSuffix(page, ".html") + "-deploy" }
