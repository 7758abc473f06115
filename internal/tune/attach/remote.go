package attach

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/base/samehost"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Remote is a server with the handler of gcctl/gcctlhttp at URL.
type Remote struct {
	URL   string
	Token string // "" for none
}

// remoteState is the handler's response; see gcctlhttp.State.
type remoteState struct {
	State
	GOGC            int   `json:"gogc"`
	LimitBytes      int64 `json:"limit_bytes"`
	FoundGOGC       int   `json:"found_gogc"`
	FoundLimitBytes int64 `json:"found_limit_bytes"`
}

// Look implements Server.
func (r Remote) Look(ctx context.Context) (State, error) { return r.ask(ctx, http.MethodGet, nil) }

// Apply implements Server. It does not set the original setting but has it restored: under a
// setting without a limit, the handler holds the container's.
func (r Remote) Apply(ctx context.Context, gc cell.GC, hold time.Duration) error {
	now, err := r.Look(ctx)
	if err != nil {
		return err
	}
	if same(gc, now.Found) {
		return r.Restore(ctx)
	}
	_, err = r.ask(ctx, http.MethodPost, map[string]any{
		"gogc": gc.Percent, "limit_bytes": gc.LimitBytes, "hold_seconds": hold.Seconds(),
	})
	return err
}

// Restore implements Server.
func (r Remote) Restore(ctx context.Context) error {
	_, err := r.ask(ctx, http.MethodDelete, nil)
	if err != nil {
		err = fmt.Errorf("%w; if the process still runs, its handler returns to what it found within %v", err, hold)
	}
	return err
}

// Settle implements Server.
func (Remote) Settle() (least, most time.Duration) { return 50 * time.Millisecond, time.Minute }

// ask sends a request and reads the state in the response. It waits ten seconds at most, because
// a collection may have to end first.
func (r Remote) ask(ctx context.Context, method string, body any) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	fail := func(err error) (State, error) { return State{}, fmt.Errorf("tune: --attach: %w", err) }
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return fail(err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL, bytes.NewReader(data))
	if err != nil {
		return fail(err)
	}
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	resp, err := (&http.Client{CheckRedirect: samehost.Redirect}).Do(req)
	if err != nil {
		return fail(err)
	}
	defer resp.Body.Close()
	const most = 64 << 10
	data, err = io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return fail(err)
	}
	text := strings.TrimSpace(string(data))
	var s remoteState
	ok := resp.StatusCode == http.StatusOK
	switch {
	case ok && (json.Unmarshal(data, &s) != nil || s.PID == 0), !ok && !strings.HasPrefix(text, "gcctlhttp: "):
		return fail(fmt.Errorf("%s is not the handler of gcctl/gcctlhttp: %s: %.100s", r.URL, resp.Status,
			strings.Join(strings.Fields(text), " ")))
	case resp.StatusCode == http.StatusBadRequest:
		return fail(fmt.Errorf("%w by the server: %.300s", ErrRefused, text))
	case resp.StatusCode == http.StatusUnauthorized && r.Token != "":
		return fail(fmt.Errorf("%s: %.300s: --token-file holds another one", resp.Status, text))
	case resp.StatusCode == http.StatusUnauthorized:
		return fail(fmt.Errorf("%s: %.300s: give --token-file", resp.Status, text))
	case !ok:
		return fail(fmt.Errorf("%s: %.300s", resp.Status, text))
	}
	s.At, s.ResidentBytes = time.Now(), cmp.Or(s.ResidentBytes, s.MappedBytes)
	s.GC = cell.GC{Percent: s.GOGC, LimitBytes: s.LimitBytes}
	s.Found = cell.GC{Percent: s.FoundGOGC, LimitBytes: s.FoundLimitBytes}
	return s.State, nil
}
