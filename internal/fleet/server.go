package fleet

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/isobar-go/isobar/internal/base/loopback"
)

// ServerConfig configures a server in this process. The zero value is a server
// that no other process can reach, in a temporary directory.
type ServerConfig struct {
	// Dir is an existing directory where streams are kept; "" means a temporary one
	// that Close removes.
	Dir string
	// Listen is the address for others, HOST:PORT; "" means none, port 0 any.
	Listen string
	// Token is the token that clients must show; "" generates one for clients in
	// this process. With NKeys, the public keys of users (U...), it is not accepted.
	Token string
	NKeys []string
	// PEM files. With CA, clients must show a certificate signed by it.
	Cert, Key, CA string
	// Plaintext allows listening on non-loopback addresses without Cert.
	Plaintext bool
	// Name of this server and of its cluster; routes to the other servers, and where
	// this one listens for them. Servers of a cluster share one Token.
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
	ns    *server.Server
	token string
	temp  string // the temporary directory, if any
}

// syncInterval is how often files are synced.
const syncInterval = 5 * time.Second

// Serve starts a server and waits until it is ready.
func Serve(config ServerConfig) (*Server, error) {
	s := &Server{token: config.Token}
	if s.token == "" {
		s.token = rand.Text()
	}
	options, err := config.options(s)
	if err == nil {
		err = free(config.Listen, config.ClusterListen)
	}
	if err == nil {
		s.ns, err = server.NewServer(options)
	}
	if err != nil {
		os.RemoveAll(s.temp)
		return nil, fmt.Errorf("fleet: serve: %w", err)
	}
	s.ns.Start()
	if !s.ns.ReadyForConnections(20 * time.Second) {
		s.Close()
		return nil, fmt.Errorf("fleet: serve: %s: the server does not start: is the address in use, or the directory %s?",
			config.Listen, options.StoreDir)
	}
	return s, nil
}

// free tells whether the addresses can be listened on, as the server would try
// in vain for 20 seconds.
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

// URL returns where others reach the server; "" if they cannot.
func (s *Server) URL() string {
	if s.ns.Addr() == nil {
		return ""
	}
	return s.ns.ClientURL()
}

// Failed reports whether the server lost its streams, as it does when the disk
// is full. Restart it once there is room.
func (s *Server) Failed() bool { return !s.ns.JetStreamEnabled() }

// Close stops the server.
func (s *Server) Close() {
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
	os.RemoveAll(s.temp)
}

func (c ServerConfig) options(s *Server) (*server.Options, error) {
	o := &server.Options{
		ServerName: c.Name, NoSigs: true, NoLog: true, JetStream: true, DisableJetStreamBanner: true,
		DontListen: c.Listen == "",
		MaxPayload: 8 << 20, StoreDir: c.Dir, SyncInterval: syncInterval, SyncAlways: c.Sync, WriteDeadline: 10 * time.Second,
		AuthTimeout: 10, // seconds; a machine that stops for two would be refused
	}
	if c.Dir == "" {
		dir, err := os.MkdirTemp("", "isobar-fleet-")
		if err != nil {
			return nil, err
		}
		s.temp, o.StoreDir = dir, dir
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

// listen sets where clients connect, and with which certificates.
func (c ServerConfig) listen(o *server.Options) (err error) {
	if o.Host, o.Port, err = hostPort(c.Listen); err != nil {
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
	if c.Name == "" || c.Token == "" || c.ClusterListen == "" || len(c.Routes) == 0 {
		return errors.New("a cluster needs a name for each server, one token for all, an address for the other servers and " +
			"routes to them")
	}
	o.Cluster = server.ClusterOpts{Name: c.Cluster, Username: "isobar", Password: token}
	if o.Cluster.Host, o.Cluster.Port, err = hostPort(c.ClusterListen); err != nil {
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

func hostPort(address string) (string, int, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("%q: want HOST:PORT", address)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q: want HOST:PORT with a port number", address)
	}
	return host, int(n), nil
}
