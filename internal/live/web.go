package live

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/isobar-go/isobar/monitor"
)

// A probe is a place where a process may offer figures, and the function that opens it.
type probe struct {
	url  string
	open func(ctx context.Context, client *client, url string, c Config) (*sampler, error)
}

// maxBody bounds an answer: the heap profile of a large program takes some MiB.
const maxBody = 64 << 20

// errNotHere reports that a place has no figures; another may have some.
var errNotHere = errors.New("no figures here")

// A webFeed reads from a server. After an error it connects again, to whatever answers then.
type webFeed struct {
	client *client
	target string
	probes []probe
	config Config
	epoch  int
	from   *sampler // nil if not connected
}

// A sampler reads from one place until its first error.
type sampler struct {
	url string
	// next waits for the next sample; the feed counts epochs.
	next  func(ctx context.Context) (Sample, error)
	notes []string
	close func()
	// The process that answers: what it was started with, joined by 0 bytes, or its number.
	// Zero where it does not say.
	cmdline string
	pid     int
}

func (f *webFeed) Next(ctx context.Context) (Sample, error) {
	if f.from == nil {
		if err := f.connect(ctx); err != nil {
			return Sample{}, err
		}
		f.epoch++
	}
	s, err := f.from.next(ctx)
	if errors.Is(err, errRestarted) {
		f.epoch++
		err = nil
	}
	if err != nil {
		f.from.close()
		f.from = nil
		return Sample{}, err
	}
	s.Epoch = f.epoch
	return s, nil
}

// errRestarted accompanies the first sample of a new process.
var errRestarted = errors.New("a different process answers")

// connect finds the best place that offers figures.
func (f *webFeed) connect(ctx context.Context) error {
	var tried []string
	for _, p := range f.probes {
		s, err := p.open(ctx, f.client, p.url, f.config)
		if err == nil {
			f.from = s
			return nil
		}
		if !errors.Is(err, errNotHere) {
			remedy := "is the program running, and is that the address of its HTTP server?"
			if unknown := (*tls.CertificateVerificationError)(nil); errors.As(err, &unknown) {
				remedy = "SSL_CERT_FILE=FILE names certificates to trust instead"
			}
			return fmt.Errorf("watch: %w; %s", err, remedy)
		}
		tried = append(tried, strings.TrimPrefix(err.Error(), errNotHere.Error()+": "))
	}
	all, remedy := strings.Join(tried, ", "), "have the program import net/http/pprof or expvar, mount "+
		"monitor.Handler() at /debug/isobar/, or name the path that they are mounted at"
	switch {
	case strings.Contains(all, "401 Unauthorized"):
		remedy = "name its user, as in http://USER:PASSWORD@HOST:PORT/"
	case strings.Contains(all, "400 Bad Request"):
		remedy = "if it speaks TLS, write https://"
	}
	return fmt.Errorf("watch: %s answers, but not with figures (%s); %s", f.target, all, remedy)
}

func (f *webFeed) Source() string {
	if f.from == nil {
		return f.target
	}
	return f.from.url
}

func (f *webFeed) Notes() []string {
	if f.from == nil {
		return nil
	}
	return f.from.notes
}

func (f *webFeed) Close() error {
	if f.from != nil {
		f.from.close()
	}
	f.client.CloseIdleConnections()
	return nil
}

// get returns the body of an answer, whose status must be 200.
func get(ctx context.Context, client *client, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	resp, err := open(ctx, client, url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", url, err)
	case len(body) > maxBody:
		return nil, fmt.Errorf("%w: %s: more than %d MiB", errNotHere, url, maxBody>>20)
	}
	return body, nil
}

func open(ctx context.Context, client *client, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if client.user != nil {
		password, _ := client.user.Password()
		req.SetBasicAuth(client.user.Username(), password)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("%w: %s: %s", errNotHere, url, resp.Status)
	}
	return resp, nil
}

// A page reads the page of package monitor: first its history, then its stream.
type page struct {
	url     string
	process monitor.Process
	figures []monitor.Figure
	pending []Sample // from the history and the latest event
	id      string   // the common prefix of the process's event ids
	body    io.Closer
	in      *bufio.Scanner // of lines
	stall   time.Duration  // a stream silent for this long is dead
	cancel  context.CancelFunc
}

// longEvent bounds an event of the stream, which holds the samples that the page missed,
// some hundred bytes each.
const longEvent = 8 << 20

func openPage(ctx context.Context, client *client, url string, _ Config) (*sampler, error) {
	body, err := get(ctx, client, url+"history")
	if err != nil {
		return nil, err
	}
	var history struct {
		Process  monitor.Process
		Interval int64
		Figures  []monitor.Figure
		Rows     [][]*float64
		Next     string
	}
	if err := json.Unmarshal(body, &history); err != nil || len(history.Figures) == 0 || history.Next == "" {
		return nil, fmt.Errorf("%w: %s: not a page of package monitor", errNotHere, url)
	}
	p := &page{url: url, process: history.Process, figures: history.Figures}
	p.id, _, _ = strings.Cut(history.Next, "-")
	if err := p.take(history.Rows); err != nil {
		return nil, err
	}
	for i := range len(p.pending) - 1 {
		p.pending[i].Past = true
	}
	// The stream outlives this call, so it has its own context.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	resp, err := open(life, client, url+"stream?from="+history.Next)
	if err != nil {
		cancel()
		return nil, err
	}
	p.body, p.in, p.cancel = resp.Body, bufio.NewScanner(resp.Body), cancel
	p.in.Buffer(nil, longEvent)
	p.stall = max(5*time.Duration(history.Interval)*time.Millisecond, 10*time.Second)
	return &sampler{url: url, next: p.next, close: p.close, pid: history.Process.PID}, nil
}

// take adds rows to the pending samples.
func (p *page) take(rows [][]*float64) error {
	for _, row := range rows {
		if len(row) != len(p.figures)+1 || row[0] == nil {
			return fmt.Errorf("%s: a sample has %d values for %d figures", p.url, len(row)-1, len(p.figures))
		}
		s := Sample{At: time.UnixMilli(int64(*row[0])), Process: p.process, Figures: p.figures,
			Values: make([]float64, len(p.figures))}
		for i, v := range row[1:] {
			s.Values[i] = math.NaN()
			if v != nil {
				s.Values[i] = *v
			}
		}
		p.pending = append(p.pending, s)
	}
	return nil
}

func (p *page) next(ctx context.Context) (Sample, error) {
	stop := context.AfterFunc(ctx, p.cancel)
	defer stop()
	for len(p.pending) == 0 {
		if err := p.event(); err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return Sample{}, err
		}
	}
	s := p.pending[0]
	p.pending = p.pending[1:]
	return s, nil
}

// event reads one event of the stream.
func (p *page) event() error {
	watchdog := time.AfterFunc(p.stall, p.cancel)
	defer watchdog.Stop()
	var data, id []byte
	for {
		if !p.in.Scan() {
			if errors.Is(p.in.Err(), bufio.ErrTooLong) {
				return fmt.Errorf("watch: %s: stream: a line of more than %d MiB", p.url, longEvent>>20)
			}
			return fmt.Errorf("watch: %s: the stream ended: %w", p.url, cmp.Or(p.in.Err(), io.EOF))
		}
		switch line := p.in.Bytes(); {
		case len(line) == 0 && data == nil:
			return nil
		case len(line) == 0:
			if start, _, _ := bytes.Cut(id, []byte("-")); string(start) != p.id {
				return fmt.Errorf("watch: %s: a different process answers", p.url)
			}
			var rows [][]*float64
			if err := json.Unmarshal(data, &rows); err != nil {
				return fmt.Errorf("watch: %s: stream: %w", p.url, err)
			}
			return p.take(rows)
		case bytes.HasPrefix(line, []byte("data: ")):
			data = bytes.Clone(line[6:])
		case bytes.HasPrefix(line, []byte("id: ")):
			id = bytes.Clone(line[4:])
		}
	}
}

func (p *page) close() {
	p.cancel()
	p.body.Close()
}
