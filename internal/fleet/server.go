package fleet

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/isobar-go/isobar/internal/base/loopback"
	"github.com/isobar-go/isobar/internal/lab/store"
)

// ServerConfig configures a server in this process. The zero value is a server
// that no other process can reach, in a temporary directory.
type ServerConfig struct {
	// Dir is the directory of the streams, for one server at a time; "" means a temporary
	// directory that Close removes.
	Dir string
	// Listen is the address for other processes, HOST:PORT; "" means none, port 0 any.
	Listen string
	// TokenFile holds the token that clients must show, and is created if missing; without
	// a file the token is only for clients in this process. With NKeys, the public keys of
	// users (U...), tokens are not accepted.
	TokenFile string
	NKeys     []string
	// PEM files. With CA, clients must show a certificate signed by it.
	Cert, Key, CA string
	// Plaintext allows listening on non-loopback addresses without Cert.
	Plaintext bool
	// Name of this server and of its cluster; routes to the other servers, and the address
	// for their connections. Servers of a cluster share one token.
	Name, Cluster, ClusterListen string
	Routes                       []string
	// Sync writes every message to disk before it is confirmed. Without it a power
	// failure (but not a crash) loses messages younger than SyncInterval; the
	// coordinator then reruns those blocks.
	Sync bool
}

// A Server is a NATS server with JetStream in this process. Make one with
// Serve; it must not be copied.
type Server struct {
	ns     *server.Server
	token  string
	dir    string
	temp   string // the temporary directory, if any
	unlock func() // of the directory
}

// syncInterval is the interval at which files are synced.
const syncInterval = 5 * time.Second

// Serve starts a server and waits until it is ready.
func Serve(config ServerConfig) (*Server, error) {
	s := &Server{dir: config.Dir}
	if err := s.start(config); err != nil {
		s.Close()
		return nil, fmt.Errorf("fleet: serve: %w", err)
	}
	return s, nil
}

// Check returns what is wrong with the configuration itself; addresses and the directory may still be in use.
func (c ServerConfig) Check() error {
	if _, err := c.options(&Server{}); err != nil {
		return fmt.Errorf("fleet: serve: %w", err)
	}
	return nil
}

func (s *Server) start(config ServerConfig) (err error) {
	if err := s.own(); err != nil {
		return err
	}
	if s.token, err = readToken(config.TokenFile); err != nil {
		return fmt.Errorf("token: %w", err)
	}
	options, err := config.options(s)
	if err != nil {
		return err
	}
	if err := free(config.Listen, config.ClusterListen); err != nil {
		return err
	}
	if s.ns, err = server.NewServer(options); err != nil {
		return err
	}
	s.ns.Start()
	if !s.ns.ReadyForConnections(20 * time.Second) {
		return fmt.Errorf("%s: the server does not start: is the address in use, or the directory %s?", config.Listen, s.dir)
	}
	return nil
}

// own makes the directory and locks it.
func (s *Server) own() (err error) {
	if s.dir == "" {
		s.temp, err = os.MkdirTemp("", "isobar-fleet-")
		s.dir = s.temp
	} else {
		err = os.MkdirAll(s.dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("%w: choose another place with --dir", err)
	}
	s.unlock, err = store.Lock(filepath.Join(s.dir, "server"))
	switch {
	case errors.Is(err, store.ErrLocked):
		return fmt.Errorf("%w: two servers would damage each other's streams: give each a --dir", err)
	case err != nil:
		return fmt.Errorf("%w: choose another place with --dir", err)
	}
	return nil
}

// readToken reads a token, and makes one if there is no file or its name is "".
func readToken(file string) (string, error) {
	if file == "" {
		return rand.Text(), nil
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return "", err
		}
		token := rand.Text()
		return token, os.WriteFile(file, []byte(token+"\n"), 0o600)
	}
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if len(token) < 16 {
		return "", fmt.Errorf("%s holds %d characters: want 16 or more, or no file, to have one made", file, len(token))
	}
	return token, nil
}

// free returns an error if an address cannot be listened on. The server itself would retry for 20 seconds.
func free(addresses ...string) error {
	for _, address := range addresses {
		if address == "" {
			continue
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("%w: give another address", err)
		}
		l.Close()
	}
	return nil
}

// URL returns the address for other processes; "" if the server does not listen.
func (s *Server) URL() string {
	if s.ns.Addr() == nil {
		return ""
	}
	return s.ns.ClientURL()
}

// Wait waits until ctx ends; it returns an error if the server cannot write its streams any more.
func (s *Server) Wait(ctx context.Context) error {
	for {
		if err := s.writable(); err != nil {
			return fmt.Errorf("fleet: serve: cannot write the streams in %s any more, most likely because the disk is full: "+
				"make room and start it again: no record is lost (%w)", s.dir, err)
		}
		if pause(ctx, time.Second); ctx.Err() != nil {
			return nil
		}
	}
}

// writable returns why the server no longer stores messages; nil if it does. After a failed
// write, a single server refuses a stream permanently and does not answer publishers to it;
// servers in a cluster turn JetStream off.
func (s *Server) writable() error {
	if !s.ns.JetStreamEnabled() {
		return errors.New("JetStream is off")
	}
	for _, e := range s.ns.Healthz(&server.HealthzOptions{Details: true}).Errors {
		if e.Type == server.HealthzErrorStream && strings.Contains(e.Error, "write error") {
			return errors.New(e.Error)
		}
	}
	return nil
}

// Close stops the server.
func (s *Server) Close() {
	if s.ns != nil {
		s.ns.Shutdown()
		s.ns.WaitForShutdown()
	}
	if s.unlock != nil {
		s.unlock()
	}
	os.RemoveAll(s.temp)
}

func (c ServerConfig) options(s *Server) (*server.Options, error) {
	o := &server.Options{
		ServerName: c.Name, NoSigs: true, NoLog: true, JetStream: true, DisableJetStreamBanner: true,
		DontListen: c.Listen == "",
		MaxPayload: 8 << 20, StoreDir: s.dir, SyncInterval: syncInterval, SyncAlways: c.Sync, WriteDeadline: 10 * time.Second,
		AuthTimeout: 10, // seconds; a machine that stops for two would be refused
	}
	if len(c.NKeys) == 0 {
		o.Authorization = s.token
	}
	for _, key := range c.NKeys {
		o.Nkeys = append(o.Nkeys, &server.NkeyUser{Nkey: key})
	}
	if c.Listen != "" {
		if err := c.listen(o); err != nil {
			return nil, err
		}
	}
	return o, c.cluster(o, s.token)
}

// listen sets the address and the certificates for clients.
func (c ServerConfig) listen(o *server.Options) (err error) {
	if o.Host, o.Port, err = hostPort("--listen", c.Listen); err != nil {
		return err
	}
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	if (c.Cert == "") != (c.Key == "") || c.CA != "" && c.Cert == "" {
		return errors.New("a certificate needs its key, and an authority for clients needs both: give --cert and --key")
	}
	if c.Cert == "" {
		if !c.Plaintext && !loopback.Is(o.Host) {
			return fmt.Errorf("%s is not a loopback address, and the token would be sent in the clear: give --cert and --key, "+
				"or --plaintext", c.Listen)
		}
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return err
	}
	o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	o.TLS, o.TLSTimeout = true, 5
	if c.CA != "" {
		data, err := os.ReadFile(c.CA)
		if err != nil {
			return err
		}
		o.TLSConfig.ClientCAs, o.TLSConfig.ClientAuth, o.TLSVerify = x509.NewCertPool(), tls.RequireAndVerifyClientCert, true
		if !o.TLSConfig.ClientCAs.AppendCertsFromPEM(data) {
			return fmt.Errorf("%s holds no PEM certificate", c.CA)
		}
	}
	return nil
}

// cluster sets the other servers.
func (c ServerConfig) cluster(o *server.Options, token string) (err error) {
	if c.Cluster == "" {
		return nil
	}
	if c.Name == "" || c.TokenFile == "" || c.ClusterListen == "" || len(c.Routes) == 0 {
		return errors.New("a cluster needs a name for each server, one token for all, an address for the other servers and " +
			"routes to them")
	}
	o.Cluster = server.ClusterOpts{Name: c.Cluster, Username: "isobar", Password: token}
	if o.Cluster.Host, o.Cluster.Port, err = hostPort("--cluster-listen", c.ClusterListen); err != nil {
		return err
	}
	if !c.Plaintext && !loopback.Is(o.Cluster.Host) {
		return fmt.Errorf("%s is not a loopback address, and servers talk to each other in the clear: keep them in "+
			"a private network and give --plaintext, or run nats-server with TLS routes", c.ClusterListen)
	}
	for _, route := range c.Routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: strings.TrimPrefix(route, "nats://"),
			User: url.UserPassword("isobar", token)})
	}
	return nil
}

// hostPort splits the value of a flag.
func hostPort(flag, address string) (string, int, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("%s %q: want HOST:PORT, such as 127.0.0.1:4222", flag, address)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%s %q: want HOST:PORT with a port number", flag, address)
	}
	return host, int(n), nil
}
