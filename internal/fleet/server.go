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
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ServerConfig says how a server of this process runs. The zero value is a
// server that no other process can reach, in a temporary directory.
type ServerConfig struct {
	// Dir is where streams are kept; "" stands for a temporary directory that
	// Close removes.
	Dir string
	// Listen is the address for others, HOST:PORT; "" for none, port 0 for any.
	Listen string
	// Token is what others must show; "" draws one, see Server.Token. With
	// NKeys it is not accepted: these are public keys of users (U...).
	Token string
	NKeys []string
	// PEM files. With CA, clients must show a certificate that it signed.
	Cert, Key, CA string
	// Plaintext allows to listen on other addresses than loopback without Cert.
	Plaintext bool
	// Name of this server, and of its cluster; routes to the others, and where
	// this one listens for them. Servers of a cluster have the same Token.
	Name, Cluster, ClusterListen string
	Routes                       []string
	// Sync has every message on the disk before it is confirmed. Without it a
	// loss of power, not a crash, loses what is younger than SyncInterval: the
	// coordinator then has those blocks run again.
	Sync bool
}

// A Server is a NATS server with JetStream in this process. Serve returns one;
// it must not be copied.
type Server struct {
	ns    *server.Server
	token string
	temp  string // the temporary directory, if there is one
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
		s.ns, err = server.NewServer(options)
	}
	if err != nil {
		os.RemoveAll(s.temp)
		return nil, fmt.Errorf("fleet: serve: %w", err)
	}
	s.ns.Start()
	if !s.ns.ReadyForConnections(20 * time.Second) {
		s.Close()
		return nil, fmt.Errorf("fleet: serve: %s: the server does not get ready: is the address in use, or the directory %s?",
			config.Listen, options.StoreDir)
	}
	return s, nil
}

// Token is what clients must show.
func (s *Server) Token() string { return s.token }

// URL is where others reach the server; "" where they do not.
func (s *Server) URL() string {
	if s.ns.Addr() == nil {
		return ""
	}
	return s.ns.ClientURL()
}

// Failed reports whether the server lost its streams, which it does when the
// disk is full: it has to be started again once there is room.
func (s *Server) Failed() bool { return !s.ns.JetStreamEnabled() }

// Close stops the server.
func (s *Server) Close() {
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
	if s.temp != "" {
		os.RemoveAll(s.temp)
	}
}

func (c ServerConfig) options(s *Server) (*server.Options, error) {
	o := &server.Options{
		ServerName: c.Name, NoSigs: true, NoLog: true, JetStream: true, DisableJetStreamBanner: true,
		DontListen: c.Listen == "",
		MaxPayload: 8 << 20, StoreDir: c.Dir, SyncInterval: syncInterval, SyncAlways: c.Sync, WriteDeadline: 10 * time.Second,
	}
	if c.Dir == "" {
		dir, err := os.MkdirTemp("", "isobar-fleet-")
		if err != nil {
			return nil, err
		}
		s.temp, o.StoreDir = dir, dir
	} else if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	o.StoreDir = filepath.Clean(o.StoreDir)
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

// listen fills in where clients connect, and with what certificates.
func (c ServerConfig) listen(o *server.Options) (err error) {
	if o.Host, o.Port, err = hostPort(c.Listen); err != nil {
		return err
	}
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	if (c.Cert == "") != (c.Key == "") || c.CA != "" && c.Cert == "" {
		return errors.New("a certificate and its key belong together, and an authority for clients to both: give --cert " +
			"and --key")
	}
	if c.Cert == "" {
		if !c.Plaintext && !loopback(o.Host) {
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
			return fmt.Errorf("%s holds no certificate in PEM", c.CA)
		}
	}
	return nil
}

// cluster fills in the other servers.
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
	if !c.Plaintext && !loopback(o.Cluster.Host) {
		return fmt.Errorf("%s is not a loopback address, and servers talk in the clear with each other: keep them in "+
			"a network of their own and give --plaintext, or run nats-server with TLS routes", c.ClusterListen)
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

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
