// Package live reads the figures of another process from whatever it offers: the page of
// package monitor, expvar, net/http/pprof, its gctrace lines, or only the kernel's figures.
//
// [Open] recognizes a target by its form and returns a [Feed], whose samples name their
// figures like package monitor. A feed recovers from failures: Next may be called again
// after any error but io.EOF. Samples lack the figures that a process does not offer.
// [Each] iterates over them, and a [Relay] is a page of them.
//
// A feed only reads; it changes nothing in the process. Reading expvar or pprof
// stops its world for a moment, as runtime.ReadMemStats does.
//
// A Feed belongs to one goroutine.
//
// Imports: base, kit, gc, show.
package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/base/samehost"
	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/monitor"
)

// A Sample is one reading of a process's figures.
type Sample struct {
	At      time.Time
	Process monitor.Process
	// Figures describe Values. They stay the same within an epoch.
	Figures []monitor.Figure
	Values  []float64 // NaN if missing
	// Epoch counts the processes, or ways to watch them, that the feed has seen.
	// Counters of different epochs are unrelated.
	Epoch int
	// Past is set if the sample was taken before the feed began, unless it is the newest such sample.
	Past bool
}

// A Feed returns the samples of a process.
type Feed interface {
	// Next waits for the next sample. io.EOF itself, not wrapped, means that no more
	// will come: the stream or the process has ended. After another error Next may be
	// called again.
	Next(ctx context.Context) (Sample, error)
	// Source says briefly where the figures come from. It is known after the first sample.
	Source() string
	// Notes tell the user about the samples, such as what is missing and how to
	// get it.
	Notes() []string
	Close() error
}

// Config configures a feed.
type Config struct {
	Interval time.Duration // between samples
	Wait     time.Duration // for the first sample of Each; 0 for no limit
	// Once requests the present state only: a file is read to its end and not
	// followed.
	Once bool
	// Stdin is the input for the target "-".
	Stdin io.Reader
	// Own receives the lines of a stream that do not come from the runtime; nil drops them.
	Own io.Writer
}

// Open returns the feed of a target: "-" for standard input, a number for a
// process, an existing file, or else a URL or host:port.
func Open(target string, c Config) (Feed, error) {
	if target == "-" {
		return newTraceFeed("standard input", c.Stdin, c), nil
	}
	if pid, err := strconv.Atoi(target); err == nil && pid > 0 {
		return openProcess(pid, c)
	}
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("watch: %s is a directory; name a file with gctrace lines", target)
	case err == nil && info.Mode()&os.ModeSocket != 0:
		return nil, fmt.Errorf("watch: %s is a socket, and watch reads TCP ports: forward one to it, as in: socat "+
			"TCP-LISTEN:6060,bind=localhost,fork UNIX-CONNECT:%s", target, target)
	case err == nil:
		return openFile(target, c)
	}
	if probes, user, ok := parseURL(target); ok {
		return &webFeed{client: &client{newClient(http.ProxyFromEnvironment, c), user}, target: text.WithoutPasswords(target),
			probes: probes, config: c}, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("watch: %w", err)
	}
	return nil, fmt.Errorf("watch: %q: there is no such file; want a URL such as http://localhost:6060, host:port, the "+
		"number of a process, a file with gctrace lines, or - for standard input", target)
}

// parseURL returns the places to look for figures at a URL or host:port, and the URL's
// user: at and under the given path first, then the usual places.
func parseURL(target string) (_ []probe, user *url.Userinfo, ok bool) {
	if !strings.Contains(target, "://") {
		host, port, err := net.SplitHostPort(strings.SplitN(target, "/", 2)[0])
		if err != nil {
			return nil, nil, false
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return nil, nil, false
		}
		if host == "" {
			target = "localhost" + target
		}
		target = "http://" + target
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, false
	}
	root := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	user, u.User = u.User, nil // in no message
	var probes []probe
	if given := strings.Trim(u.Path, "/"); given != "" {
		at := u.String()
		u.RawQuery, u.Fragment = "", ""
		probes = append(probes, probe{u.JoinPath("/").String(), openPage})
		if before, _, inPprof := strings.Cut(u.Path, "pprof"); inPprof {
			u.Path = before
			probes = append(probes, probe{u.JoinPath("pprof/").String(), openPprof})
		} else {
			probes = append(append(probes, probe{at, openVars}), usual(root+"/"+given)...)
		}
	}
	return append(probes, usual(root)...), user, true
}

// usual returns the places where servers usually offer figures, best first.
func usual(base string) []probe {
	return []probe{{base + "/debug/isobar/", openPage}, {base + "/debug/vars", openVars},
		{base + "/debug/pprof/", openPprof}}
}

// A client asks a server, as a user if there is one.
type client struct {
	*http.Client
	user *url.Userinfo
}

// headersWithin is how long a server may take to answer, unless the first sample may take longer.
var headersWithin = 5 * time.Second

func newClient(proxy func(*http.Request) (*url.URL, error), c Config) *http.Client {
	return &http.Client{
		CheckRedirect: samehost.Redirect,
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
			TLSHandshakeTimeout:   3 * time.Second,
			ResponseHeaderTimeout: max(headersWithin, c.Wait),
			MaxIdleConnsPerHost:   2,
			Proxy:                 proxy,
		},
	}
}

// await waits for d; it returns false if ctx has ended.
func await(ctx context.Context, d time.Duration) bool {
	over, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-over.Done()
	return ctx.Err() == nil
}
