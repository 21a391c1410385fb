// Package testca makes certificates for tests.
package testca

import (
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
	"sync/atomic"
	"testing"
	"time"
)

// Authority signs certificates, into a directory.
type Authority struct {
	dir    string
	key    *ecdsa.PrivateKey
	own    *x509.Certificate
	serial atomic.Int64
}

// New writes ca.pem.
func New(t testing.TB, dir string) *Authority {
	a := &Authority{dir: dir}
	a.own, a.key = a.make(t, "ca", x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// CA is the file of its own certificate.
func (a *Authority) CA() string { return filepath.Join(a.dir, "ca.pem") }

// Server writes the certificate of 127.0.0.1 and localhost, and its key.
func (a *Authority) Server(t testing.TB, name string) (cert, key string) {
	a.make(t, name, x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}})
	return a.files(name)
}

// Client writes the certificate of a name, and its key.
func (a *Authority) Client(t testing.TB, name string) (cert, key string) {
	a.make(t, name, x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return a.files(name)
}

func (a *Authority) files(name string) (cert, key string) {
	return filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
}

// make makes a certificate, signed by a or, as long as a has none, by itself.
func (a *Authority) make(t testing.TB, name string, c x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	c.SerialNumber, c.Subject = big.NewInt(a.serial.Add(1)), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.own, a.key
	if parent == nil {
		parent, signer = &c, key
	}
	signed, err := x509.CreateCertificate(rand.Reader, &c, parent, &key.PublicKey, signer)
	check(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	check(err)
	cert, path := a.files(name)
	check(os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600))
	check(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	made, err := x509.ParseCertificate(signed)
	check(err)
	return made, key
}
