package fleet

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An authority signs certificates for tests.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // its own certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.file, _ = a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// sign returns PEM files of a new certificate and its key. The first certificate is that of
// the authority itself.
func (a *authority) sign(template *x509.Certificate) (certFile, keyFile string) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.cert == nil {
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			a.t.Fatal(err)
		}
		a.key = key
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	write := func(name, kind string, data []byte) string {
		file := filepath.Join(a.t.TempDir(), name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			a.t.Fatal(err)
		}
		return file
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", private)
}

// server returns a certificate for a server at the given address.
func (a *authority) server(address string) (certFile, keyFile string) {
	return a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "server"}, IPAddresses: []net.IP{net.ParseIP(address)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// client returns a certificate for a client.
func (a *authority) client() (certFile, keyFile string) {
	return a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "client"}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// TestTLS connects clients with and without the right credentials to three
// servers with certificates: a correct one, one that also requires client
// certificates, and one whose certificate is for another address.
func TestTLS(t *testing.T) {
	ours, strangers := newAuthority(t), newAuthority(t)
	cert, key := ours.server("127.0.0.1")
	plain := serve(t, ServerConfig{Listen: "127.0.0.1:0", TokenFile: tokenFile(t, "the token that is right"), Cert: cert, Key: key})
	mutual := serve(t, ServerConfig{Listen: "127.0.0.1:0", TokenFile: tokenFile(t, "the token that is right"), Cert: cert, Key: key, CA: ours.file})
	cert, key = ours.server("127.0.0.2")
	elsewhere := serve(t, ServerConfig{Listen: "127.0.0.1:0", TokenFile: tokenFile(t, "the token that is right"), Cert: cert, Key: key})
	known, knownKey := ours.client()
	forged, forgedKey := strangers.client()
	for _, test := range []struct {
		name    string
		server  *Server
		options Options
		want    string // in the error; "" for none
	}{
		{"the right authority", plain, Options{CA: ours.file}, ""},
		{"no authority", plain, Options{}, "certificate"},
		{"another authority", plain, Options{CA: strangers.file}, "certificate"},
		{"the right authority and no token", plain, Options{CA: ours.file, TokenFile: tokenFile(t, "none")}, "Authorization"},
		{"a certificate for another address", elsewhere, Options{CA: ours.file}, "certificate"},
		{"a client's certificate", mutual, Options{CA: ours.file, Cert: known, Key: knownKey}, ""},
		{"no client's certificate", mutual, Options{CA: ours.file}, "tls"},
		{"a client's certificate of another authority", mutual, Options{CA: ours.file, Cert: forged, Key: forgedKey}, "tls"},
	} {
		test.options.URL = test.server.URL()
		test.options.TokenFile = cmp.Or(test.options.TokenFile, tokenFile(t, "the token that is right"))
		f, err := Connect(t.Context(), test.options)
		switch {
		case err == nil:
			f.Close()
			if test.want != "" {
				t.Errorf("%s: connected, want an error with %q", test.name, test.want)
			}
		case test.want == "":
			t.Errorf("%s: %v", test.name, err)
		case !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: %v, want an error with %q", test.name, err, test.want)
		}
	}
}
