package advice

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/base/samehost"
	"github.com/isobar-go/isobar/internal/show/text"
)

// cpuSeconds is the duration of a CPU profile of a running program, if its URL names none.
const cpuSeconds = 10

// patience is how long an endpoint may take beyond the requested seconds.
var patience = 30 * time.Second

// endpoints expands names of profiles: the index page of a running program stands for
// its allocations and its CPU time.
func endpoints(names []string) (all []string) {
	for _, name := range names {
		list, isList := strings.CutSuffix(strings.TrimSuffix(name, "/"), "/debug/pprof")
		if isList && remote(name) {
			all = append(all, list+"/debug/pprof/heap", fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", list, cpuSeconds))
			continue
		}
		all = append(all, name)
	}
	return all
}

// remote reports whether name is a URL.
func remote(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// open opens a file, or the response of a running program at a URL.
func open(ctx context.Context, name string) (io.ReadCloser, error) {
	in, err := Fetch(ctx, name, "http://localhost:6060/debug/pprof/allocs")
	if err != nil {
		return nil, fmt.Errorf("advise: profile: %w", err)
	}
	return in, nil
}

// Fetch opens a file, or the response of a running program at a URL like example.
func Fetch(ctx context.Context, name, example string) (io.ReadCloser, error) {
	if !remote(name) {
		file, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) && strings.Contains(name, ":") {
			err = fmt.Errorf("%w; a URL begins with http://", err)
		}
		return file, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, name, nil)
	if err != nil {
		return nil, err
	}
	seconds, _ := strconv.Atoi(req.URL.Query().Get("seconds"))
	wait := patience + time.Duration(seconds)*time.Second
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout, transport.DisableKeepAlives = wait, true
	client := http.Client{CheckRedirect: samehost.Redirect, Transport: transport,
		Timeout: 4 * wait} // a flight recording may have 256 MiB
	resp, err := client.Do(req)
	if err != nil {
		remedy := "is the program running, and does it import net/http/pprof?"
		if unknown := (*tls.CertificateVerificationError)(nil); errors.As(err, &unknown) {
			remedy = "SSL_CERT_FILE=FILE names certificates to trust instead"
		}
		return nil, fmt.Errorf("%w; %s", err, remedy)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		said, _ := bufio.NewReader(io.LimitReader(resp.Body, 200)).ReadString('\n')
		remedy := "give an endpoint of net/http/pprof, such as " + example
		if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
			remedy = "give http://USER:PASSWORD@HOST, or a file that curl fetched as you"
		}
		return nil, fmt.Errorf("%s: %s: %q; %s", text.WithoutPasswords(name), resp.Status, strings.TrimSpace(said), remedy)
	}
	return resp.Body, nil
}
