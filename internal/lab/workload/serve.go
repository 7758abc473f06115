package workload

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/isobar-go/isobar/internal/base/loopback"
	"github.com/isobar-go/isobar/internal/base/samehost"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/load"
)

func init() {
	Register(&Workload{
		Name:         "serve",
		Summary:      "start any unmodified server, load it, stop it",
		NeedsCommand: true,
		Params: []Param{
			{Name: "url", Default: "http://127.0.0.1:8080/", Help: "what to request: an http URL on a loopback address",
				Check: checkURL, Unless: "load"},
			builtIn(Param{Name: "rate", Default: "1000",
				Help: "requests a second on a fixed schedule; 0 sends one after another; several such as 500:1000:2000 load " +
					"in turn, each for the same time",
				Check: checkRates}),
			builtIn(Int("connections", "16", "connections", 1, 10_000)),
			builtIn(Bytes("body", "0", "bytes that each request posts; 0: GET", 0, 1<<26)),
			builtIn(Duration("for", "3s", "length of the load", 10*time.Millisecond, time.Hour)),
			builtIn(Param{Name: "warmup", Default: "auto", Help: "length of the load before recording starts; auto ends when " +
				"response times no longer change, after 500ms to 10s", Check: or("auto", DurationRange(0, time.Hour))}),
			{Name: "load", Default: "",
				Help: "a shell command that loads the server instead of the built-in load; its output is read for " +
					"figures"},
			{Name: "ready", Default: "",
				Help: "what answers once the server is ready: an http URL, host:port or the path of a Unix socket, such as " +
					"/run/app.sock (default: the URL)", Check: checkReady},
			Duration("ready-within", "15s", "time for the server to become ready", time.Millisecond, time.Hour),
			Duration("stop-within", "5s", "time for the server to end after SIGTERM, before it is killed", time.Millisecond,
				time.Hour),
		},
		New: newServed,
	})
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return errors.New("want a URL such as http://127.0.0.1:8080/path; for TLS or a Unix socket give a --load COMMAND " +
			"and --ready")
	}
	if !loopback.Is(u.Host) {
		return errors.New("want a loopback address: the server runs on this machine")
	}
	return nil
}

func checkRates(s string) error {
	for rate := range strings.SplitSeq(s, ":") {
		if err := FloatRange(0, 1e7)(rate); err != nil {
			return err
		}
	}
	return nil
}

func checkReady(s string) error {
	if s == "" || strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "/") {
		return nil
	}
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return errors.New("want a URL such as http://127.0.0.1:8080/healthz, host:port, or the path of a Unix socket, from /")
	}
	return nil
}

// builtIn makes p a parameter of the built-in load.
func builtIn(p Param) Param {
	p.Unless = "load"
	return p
}

// served is to an unmodified server what exec is to an unmodified program. CPU time, memory and
// collections cover the server's whole life. The load comes from this process or from a command,
// with the default collector settings. Latency is that of the built-in load.
type served struct {
	env    Env
	target *url.URL
}

func newServed(env Env) (Task, error) {
	if len(env.Command) == 0 {
		return nil, errors.New(`no command: put the server after --, as in "serve -- ./server -port 8080"`)
	}
	target, err := url.Parse(env.Params["url"]) // a load command may do without
	if err != nil {
		return nil, err
	}
	return &served{env, target}, nil
}

func (t *served) Close() error { return nil }

// address returns the host and port of the server.
func (t *served) address() string {
	if t.target.Port() == "" {
		return net.JoinHostPort(t.target.Hostname(), "80")
	}
	return t.target.Host
}

// Run implements Whole.
func (t *served) Run(ctx context.Context, rec *cell.Record) error {
	// This process inherited the server's settings.
	debug.SetGCPercent(100)
	debug.SetMemoryLimit(math.MaxInt64)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if t.answers(ctx) == nil {
		return fmt.Errorf("%s answers before the server is started: stop what listens there, or choose another port",
			t.readyText())
	}
	s, err := startProgram(ctx, t.env)
	if err != nil {
		return err
	}
	defer s.close()
	began := time.Now()
	ended := make(chan struct{})
	go func() {
		s.cmd.Wait() // ProcessState says how it ended
		close(ended)
	}()
	loadErr := t.await(ctx, s.cmd.Process.Pid, ended)
	if loadErr == nil {
		loadErr = t.load(ctx, rec, ended, began)
	}
	if loadErr != nil {
		select { // the load notices first if a server ends
		case <-ended:
		case <-time.After(2 * time.Second):
		}
	}
	byItself := t.stop(rec, s.cmd.Process, ended)
	if err := s.finish(rec); err != nil {
		return err
	}
	rec.Set(cell.ExitStatus, float64(s.cmd.ProcessState.ExitCode()))
	if byItself {
		return s.failed(rec, &cell.Failure{Kind: cell.FailExit,
			Message: "the server ended before it was told to (it must stay in the foreground): " + s.cmd.ProcessState.String()})
	}
	return s.failed(rec, loadErr)
}

func (t *served) readyText() string { return cmp.Or(t.env.Params.String("ready"), t.target.String()) }

// answers returns nil once the server answers: HTTP with a status below 500, or
// a connection to a port or a Unix socket.
func (t *served) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if where := t.readyText(); !strings.HasPrefix(where, "http://") {
		network := "tcp"
		if strings.HasPrefix(where, "/") {
			network = "unix"
		}
		nc, err := new(net.Dialer).DialContext(ctx, network, where)
		if err == nil {
			nc.Close()
		}
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.readyText(), nil)
	if err != nil {
		return err
	}
	req.Close = true
	resp, err := (&http.Client{CheckRedirect: samehost.Redirect}).Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode >= 500 {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}

// await polls until the server is ready or has ended.
func (t *served) await(ctx context.Context, pid int, ended <-chan struct{}) error {
	within := t.env.Params.Duration("ready-within")
	deadline := time.Now().Add(within)
	for {
		err := t.answers(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Now().After(deadline):
			return fmt.Errorf("the server was not ready within %v: %w: %s", within, err, t.howReady(pid))
		}
		select {
		case <-ended:
			return errors.New("the server ended before it was ready")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// howReady says what to do about a server that does not become ready where it is asked.
func (t *served) howReady(pid int) string {
	asked := t.readyText()
	if u, err := url.Parse(asked); err == nil && u.Host != "" {
		asked = u.Host
	}
	var found []string
	for _, pid := range host.Descendants(pid) {
		at, _ := loopback.Listening(pid) // none where the platform does not say
		found = append(found, at...)
	}
	_, port, _ := net.SplitHostPort(asked)
	there := func(at string) bool { return strings.HasSuffix(at, ":"+cmp.Or(port, "80")) }
	if len(found) == 0 || slices.ContainsFunc(found, there) {
		return "give --ready a URL that answers once it is"
	}
	return fmt.Sprintf("it listens on %s: correct the port of --url or --ready", strings.Join(found, ", "))
}

// load loads the server. It ends early if the server does.
func (t *served) load(ctx context.Context, rec *cell.Record, ended <-chan struct{}, began time.Time) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-ended:
			cancel(errors.New("the server ended under the load"))
		case <-ctx.Done():
		}
	}()
	if command := t.env.Params.String("load"); command != "" {
		rec.Set(cell.LoadBegan, time.Since(began).Seconds())
		return t.loadCommand(ctx, rec, command)
	}
	rates := strings.Split(t.env.Params.String("rate"), ":")
	c := load.Config{Address: t.address(), Path: t.target.RequestURI(), BodyBytes: t.env.Params.Bytes("body"),
		Connections: t.env.Params.Int("connections")}
	var sum load.Result
	var warm time.Duration
	for i, text := range rates {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		c.Rate = rate
		spent, err := t.warmUp(ctx, c, i == 0, len(rates))
		if err != nil {
			return err
		}
		warm += spent
		if i == 0 {
			rec.Set(cell.LoadBegan, time.Since(began).Seconds())
		}
		c.Duration = t.env.Params.Duration("for")
		r, err := load.Run(ctx, c)
		if err != nil {
			return err
		}
		if len(rates) > 1 {
			rec.Set(cell.FigurePrefix+"p99-ns@"+text, float64(r.Response.Quantile(0.99)))
		}
		if i == 0 {
			sum = r
			if r.Drift > 0 {
				rec.Set(cell.LoadDrift, r.Drift)
			}
			continue
		}
		sum.Due, sum.Done, sum.Failed = sum.Due+r.Due, sum.Done+r.Done, sum.Failed+r.Failed
		sum.Elapsed += r.Elapsed
		sum.FirstErr = cmp.Or(sum.FirstErr, r.FirstErr)
		sum.Response.Merge(r.Response)
		sum.Service.Merge(r.Service)
	}
	if warm > 0 {
		rec.Set(cell.WarmUp, warm.Seconds())
	}
	return recordLoad(rec, sum)
}

const (
	warmWindow = 250 * time.Millisecond
	warmMost   = 10 * time.Second
	warmChange = 0.10 // of the median response time, from a window to the next
)

// warmUp loads the server without recording, for the given time or until the median response time no
// longer changes, and returns how long. The later rates of a sequence also take at least two windows, or
// their share of an earlier run's time.
func (t *served) warmUp(ctx context.Context, c load.Config, first bool, rates int) (spent time.Duration, err error) {
	if t.env.Params.String("warmup") != "auto" {
		if c.Duration = t.env.Params.Duration("warmup"); c.Duration == 0 || !first {
			return 0, nil
		}
		_, err := load.Run(ctx, c)
		return 0, err
	}
	if c.Duration = t.env.WarmUp / time.Duration(rates); c.Duration > 0 {
		_, err := load.Run(ctx, c)
		return c.Duration, err
	}
	c.Duration = warmWindow
	last := math.Inf(1)
	for spent < warmMost {
		r, err := load.Run(ctx, c)
		if err != nil {
			return spent, err
		}
		spent += warmWindow
		median := float64(r.Response.Quantile(0.5))
		if math.Abs(median-last) <= warmChange*last && spent > warmWindow {
			break
		}
		last = median
	}
	return spent, nil
}

// failedShare is the share of failed requests above which a run does not count.
const failedShare = 0.01

func recordLoad(rec *cell.Record, r load.Result) error {
	driving(r).Record(rec)
	if r.Done == 0 || float64(r.Failed) > failedShare*float64(r.Due) {
		hint := ""
		if errors.Is(r.FirstErr, load.ErrStatus) {
			hint = ": give a --url that answers plain requests, or a --load COMMAND that sends headers"
		}
		return fmt.Errorf("load: %d of %d requests failed, the first with: %w%s", r.Failed, r.Due, r.FirstErr, hint)
	}
	if left := r.Due - r.Done - r.Failed; left > 0 {
		rec.Warn("overload", "%d of %d requests were due but not started in time: the server cannot keep up with this rate "+
			"over these connections", left, r.Due)
	}
	return nil
}

// loadCommand runs the user's load generator and reads its output.
func (t *served) loadCommand(ctx context.Context, rec *cell.Record, command string) error {
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C"}
	}
	var output, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, shell[0], append(shell[1:], command)...)
	cmd.Env = cell.WithoutEnv(os.Environ(), "GOGC", "GOMEMLIMIT", "GOMAXPROCS") // those are the server's
	cmd.Stdout, cmd.Stderr = &output, &stderr
	cmd.WaitDelay = time.Second
	began := time.Now()
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(stderr.String())
		return fmt.Errorf("load %q: %w: %s", command, err, text[max(len(text)-300, 0):])
	}
	rec.Set("/load/wall:seconds", time.Since(began).Seconds())
	var f figures
	f.read(&output)
	if len(f.values)+len(f.lines) == 0 {
		rec.Warn("no-figures", "the load command printed no benchmark line and no JSON object, so it adds no figures")
	}
	f.record(rec)
	return nil
}

// stop ends the server, by force if it does not end in time. It reports whether
// the server had already ended.
func (t *served) stop(rec *cell.Record, p *os.Process, ended <-chan struct{}) (byItself bool) {
	select {
	case <-ended:
		return true
	default:
	}
	if p.Signal(syscall.SIGTERM) != nil { // a platform without SIGTERM
		p.Kill()
	}
	within := t.env.Params.Duration("stop-within")
	select {
	case <-ended:
	case <-time.After(within):
		rec.Warn("killed", "the server did not end within %v after SIGTERM and was killed (--stop-within)", within)
		p.Kill()
		<-ended
	}
	return false
}
