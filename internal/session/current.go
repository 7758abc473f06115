package session

import (
	"bufio"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/base/samehost"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// RunningGC returns the setting of a running program: from the environment of a process ID,
// or from client_golang's metrics at a URL. Neither shows what the program sets itself
// before the first metrics.
func RunningGC(ctx context.Context, like string) (cell.GC, error) {
	gc, err := runningGC(ctx, like)
	if err != nil {
		err = fmt.Errorf("%w: give today's setting with --current", err)
	}
	return gc, err
}

func runningGC(ctx context.Context, like string) (cell.GC, error) {
	if pid, err := strconv.Atoi(like); err == nil {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			return cell.GC{}, fmt.Errorf("session: read the environment of process %d: %w", pid, err)
		}
		// The program may have been replaced on disk, or be another user's.
		_, err = buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", pid))
		if err != nil && !errors.Is(err, os.ErrPermission) {
			return cell.GC{}, fmt.Errorf("session: the program of process %d is not Go (it has no build information)", pid)
		}
		return cell.EnvironmentGC(strings.Split(string(data), "\x00"))
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, like, nil)
	if err != nil || !strings.HasPrefix(like, "http") {
		return cell.GC{}, fmt.Errorf("%q: want a process number, or the URL of its metrics, such as "+
			"http://HOST:9090/metrics", like)
	}
	resp, err := (&http.Client{CheckRedirect: samehost.Redirect}).Do(req)
	if err != nil {
		return cell.GC{}, fmt.Errorf("session: read metrics: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return cell.GC{}, fmt.Errorf("session: read metrics: %s answers %s", like, resp.Status)
	}
	return metricsGC(io.LimitReader(resp.Body, 16<<20))
}

// metricsGC reads client_golang's gauges in the Prometheus text format.
func metricsGC(r io.Reader) (cell.GC, error) {
	percent, limit := math.NaN(), 0.0
	for s := bufio.NewScanner(r); s.Scan(); {
		// name{label="value"} value timestamp; labels and timestamp are optional
		name, value, _ := strings.Cut(s.Text(), " ")
		if at := strings.LastIndexByte(s.Text(), '}'); at >= 0 {
			name, _, _ = strings.Cut(name, "{")
			value = strings.TrimSpace(s.Text()[at+1:])
		}
		value, _, _ = strings.Cut(value, " ")
		v, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case name == "go_gc_gogc_percent":
			percent = v
		case name == "go_gc_gomemlimit_bytes" && v > 0 && v < 1<<60:
			limit = v
		}
	}
	text, bytes := strconv.FormatFloat(percent, 'f', 0, 64), ""
	switch {
	case math.IsNaN(percent):
		return cell.GC{}, errors.New("session: read metrics: go_gc_gogc_percent is missing")
	case percent < 0 || percent > math.MaxInt32: // off
		text = "off"
	}
	const mib = 1 << 20
	if limit >= 1<<10*mib { // a share of a container's memory, which nobody writes in bytes
		limit = math.Floor(limit/mib) * mib
	}
	if limit > 0 {
		bytes = strconv.FormatFloat(limit, 'f', 0, 64)
	}
	return cell.EnvironmentGC([]string{"GOGC=" + text, "GOMEMLIMIT=" + bytes})
}
