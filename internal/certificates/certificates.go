package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// Lifetime is how long certificates are valid, from an hour before they are made.
const Lifetime = 10 * 365 * 24 * time.Hour

// Pair is a certificate and its private key in PEM.
type Pair struct{ Certificate, Key []byte }

// Set is an authority's certificate in PEM, and two pairs that it has signed. Nobody has
// the authority's key any more.
type Set struct {
	Authority []byte
	Server    Pair // for localhost, 127.0.0.1, ::1 and the hosts that were asked for
	Client    Pair
}

// Make makes a set. Hosts are names or IP addresses.
func Make(hosts ...string) (*Set, error) {
	root := template("minikv test authority")
	root.IsCA, root.BasicConstraintsValid, root.KeyUsage = true, true, x509.KeyUsageCertSign
	rootKey, err := newKey()
	if err != nil {
		return nil, err
	}
	set := &Set{}
	if set.Authority, err = sign(root, root, rootKey, rootKey); err != nil {
		return nil, err
	}
	server := template("minikv")
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	names := append([]string{"localhost", "127.0.0.1", "::1"}, hosts...)
	slices.Sort(names)
	for _, host := range slices.Compact(names) {
		if ip := net.ParseIP(host); ip != nil {
			server.IPAddresses = append(server.IPAddresses, ip)
		} else if host != "" {
			server.DNSNames = append(server.DNSNames, host)
		}
	}
	if set.Server, err = signed(server, root, rootKey); err != nil {
		return nil, err
	}
	client := template("minikv client")
	client.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	set.Client, err = signed(client, root, rootKey)
	return set, err
}

// template is what all certificates have in common.
func template(name string) *x509.Certificate {
	begin := time.Now().Add(-time.Hour)
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: begin, NotAfter: begin.Add(Lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("certificates: make a key: %w", err)
	}
	return key, nil
}

// signed makes a certificate with a key of its own.
func signed(c, authority *x509.Certificate, by *ecdsa.PrivateKey) (pair Pair, err error) {
	key, err := newKey()
	if err != nil {
		return pair, err
	}
	if pair.Certificate, err = sign(c, authority, key, by); err != nil {
		return pair, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair, fmt.Errorf("certificates: %w", err)
	}
	pair.Key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return pair, nil
}

func sign(c, authority *x509.Certificate, key, by *ecdsa.PrivateKey) ([]byte, error) {
	number, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	c.SerialNumber = number
	der, err := x509.CreateCertificate(rand.Reader, c, authority, &key.PublicKey, by)
	if err != nil {
		return nil, fmt.Errorf("certificates: sign %s: %w", c.Subject.CommonName, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// Serve is the configuration of a server with this set. Clients need no certificate; one
// that they show must be the authority's.
func (s *Set) Serve() (*tls.Config, error) {
	return s.config(s.Server, func(c *tls.Config, authority *x509.CertPool) {
		c.ClientAuth, c.ClientCAs = tls.VerifyClientCertIfGiven, authority
	})
}

// Dial is the configuration of a client that trusts the authority, and has the client's
// certificate for servers that ask for one.
func (s *Set) Dial() (*tls.Config, error) {
	return s.config(s.Client, func(c *tls.Config, authority *x509.CertPool) { c.RootCAs = authority })
}

func (s *Set) config(pair Pair, trust func(*tls.Config, *x509.CertPool)) (*tls.Config, error) {
	own, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(s.Authority)
	c := &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}
	trust(c, authority)
	return c, nil
}
