package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"minikv/internal/certificates"
	"minikv/server"
)

// Files of --tls DIR, named as those that Redis's own gen-test-certs.sh makes.
const (
	authorityFile = "ca.crt"
	serverFile    = "redis.crt"
	serverKeyFile = "redis.key"
	clientFile    = "client.crt"
	clientKeyFile = "client.key"
)

// speakTLS is what --tls DIR amounts to in redis.conf: what there is of ports speaks TLS.
func (conf *config) speakTLS(dir string) (err error) {
	for _, name := range []string{"tls-port", "tls-cert-file", "tls-key-file", "tls-ca-cert-file", "tls-ca-cert-dir"} {
		if value := conf.get(name); value != "" && value != "0" {
			return fmt.Errorf("not possible together with %s %s", name, value)
		}
	}
	if dir == "" {
		return errors.New("expected a folder")
	}
	if conf.tlsDir, err = filepath.Abs(dir); err != nil {
		return err
	}
	dir = conf.tlsDir
	if _, given := conf.values["tls-auth-clients"]; !given {
		conf.values["tls-auth-clients"] = "optional"
	}
	for name, value := range map[string]string{
		"tls-port": conf.get("port"), "port": "0", "tls-cluster": "yes", "tls-replication": "yes",
		"tls-cert-file": filepath.Join(dir, serverFile), "tls-key-file": filepath.Join(dir, serverKeyFile),
		"tls-ca-cert-file": filepath.Join(dir, authorityFile),
	} {
		conf.values[name] = value
	}
	return nil
}

// certificateHosts are the hosts, besides this computer's own names, where clients come to.
func (conf *config) certificateHosts() (hosts []string) {
	for _, address := range strings.Fields(conf.get("bind")) {
		_, host := bindAddress(strings.TrimPrefix(address, "-"))
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// tlsFiles are the files of --tls DIR in the order in which they are made.
var tlsFiles = []string{authorityFile, serverFile, serverKeyFile, clientFile, clientKeyFile}

// provide makes a folder's certificates, if it has none. Of several processes that find
// none the first makes them, and the others wait for it.
func provide(dir string, hosts []string) error {
	missing := missingFiles(dir)
	if len(missing) == len(tlsFiles) {
		err := makeFiles(dir, hosts)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	const tries, pause = 100, 20 * time.Millisecond
	for range tries {
		if missing = missingFiles(dir); len(missing) == 0 {
			return nil
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("has no %s: expected all of %s, or none, to have them made",
		strings.Join(missing, ", "), strings.Join(tlsFiles, ", "))
}

func missingFiles(dir string) (missing []string) {
	for _, name := range tlsFiles {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			missing = append(missing, name)
		}
	}
	return missing
}

// makeFiles makes all files, or leaves none; fs.ErrExist: another process does. Each is
// there only when it is complete, but for the first, by which that is decided.
func makeFiles(dir string, hosts []string) error {
	set, err := certificates.Make(hosts...)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return unwrapPath(err)
	}
	first, err := os.OpenFile(filepath.Join(dir, authorityFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, publicMode)
	if err != nil {
		return fmt.Errorf("%s: %w", authorityFile, unwrapPath(err))
	}
	_, err = first.Write(set.Authority)
	err = errors.Join(err, first.Close())
	for i, content := range [][]byte{
		set.Server.Certificate, set.Server.Key, set.Client.Certificate, set.Client.Key} {
		mode := os.FileMode(publicMode)
		if strings.HasSuffix(tlsFiles[i+1], ".key") {
			mode = secretMode
		}
		if err == nil {
			err = writeFile(filepath.Join(dir, tlsFiles[i+1]), content, mode)
		}
	}
	if err != nil {
		for _, name := range tlsFiles {
			_ = os.Remove(filepath.Join(dir, name))
		}
		return unwrapPath(err)
	}
	return nil
}

// encryption reads the certificates that are configured; nil: nothing speaks TLS. The
// errors that redis-server has as well are in its words.
// Source: tlsConfigure of Redis 7.0.
func (conf *config) encryption(logs *logger) (*tls.Config, error) {
	inside := strings.EqualFold(conf.get("tls-cluster"), "yes") || strings.EqualFold(conf.get("tls-replication"), "yes")
	if conf.get("tls-port") == "0" && !inside {
		c, _ := conf.certificates(false) // for CONFIG SET tls-port; what cannot be used does no harm until then
		return c, nil
	}
	if conf.tlsDir != "" {
		if err := provide(conf.tlsDir, conf.certificateHosts()); err != nil {
			return nil, fmt.Errorf("--tls %s: %w", conf.tlsDir, err)
		}
	}
	c, err := conf.certificates(inside)
	if err == nil && conf.tlsDir != "" {
		conf.checkHosts(c, logs)
	}
	return c, err
}

// checkHosts warns of certificates that were made for other hosts.
func (conf *config) checkHosts(c *tls.Config, logs *logger) {
	for _, host := range conf.certificateHosts() {
		if err := c.Certificates[0].Leaf.VerifyHostname(host); err != nil {
			logs.log(server.LevelWarning, fmt.Sprintf("--tls %s: clients that check the host will refuse %s: %v. "+
				"An empty folder gets certificates for it.", conf.tlsDir, serverFile, err))
		}
	}
}

// certificates reads them. inside says that nodes are to speak TLS with each other, too.
func (conf *config) certificates(inside bool) (*tls.Config, error) {
	clients := strings.ToLower(conf.get("tls-auth-clients"))
	authority, err := conf.authority()
	switch {
	case conf.get("tls-cert-file") == "":
		err = errors.New("No tls-cert-file configured!")
	case conf.get("tls-key-file") == "":
		err = errors.New("No tls-key-file configured!")
	case conf.get("tls-key-file-pass") != "":
		err = errors.New("tls-key-file-pass: not supported: take the password away with openssl pkey -in FILE -out FILE")
	case err == nil && authority == nil && (inside || clients != "no"):
		err = errors.New("Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-cluster, " +
			"tls-replication or tls-auth-clients are enabled!")
	}
	var c tls.Config
	if err == nil {
		c.MinVersion, c.MaxVersion, err = protocols(conf.get("tls-protocols"))
	}
	if err == nil {
		c.Certificates, err = loadPair(conf.get("tls-cert-file"), conf.get("tls-key-file"))
	}
	if err != nil {
		return nil, fmt.Errorf("Failed to configure TLS: %w", err)
	}
	c.ClientCAs = authority
	c.ClientAuth = map[string]tls.ClientAuthType{
		"no": tls.NoClientCert, "optional": tls.VerifyClientCertIfGiven, "yes": tls.RequireAndVerifyClientCert}[clients]
	return &c, nil
}

func loadPair(certificate, key string) ([]tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s and key %s: %w", certificate, key, err)
	}
	return []tls.Certificate{pair}, nil
}

// authority is whose certificates are trusted; nil: nobody's.
func (conf *config) authority() (*x509.CertPool, error) {
	var files []string
	if file := conf.get("tls-ca-cert-file"); file != "" {
		files = append(files, file)
	}
	if dir := conf.get("tls-ca-cert-dir"); dir != "" {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("tls-ca-cert-dir %s: %w", dir, unwrapPath(err))
		}
		for _, e := range entries {
			if !e.IsDir() {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	pool, some := x509.NewCertPool(), false
	for _, file := range files {
		text, err := readText(file)
		if err != nil {
			return nil, fmt.Errorf("CA certificate %s: %w", file, unwrapPath(err))
		}
		some = pool.AppendCertsFromPEM(text) || some
	}
	if !some {
		return nil, fmt.Errorf("CA certificate %s: no certificate in it", strings.Join(files, ", "))
	}
	return pool, nil
}

// protocols reads tls-protocols, such as "TLSv1.2 TLSv1.3". What lies between two of them
// is spoken too.
func protocols(text string) (least, most uint16, err error) {
	if text == "" {
		return tls.VersionTLS12, 0, nil
	}
	for _, name := range strings.Fields(text) {
		version, known := map[string]uint16{"tlsv1": tls.VersionTLS10, "tlsv1.1": tls.VersionTLS11,
			"tlsv1.2": tls.VersionTLS12, "tlsv1.3": tls.VersionTLS13}[strings.ToLower(name)]
		if !known {
			return 0, 0, errors.New("Invalid tls-protocols specified. " +
				"Use a combination of 'TLSv1', 'TLSv1.1', 'TLSv1.2' and 'TLSv1.3'.")
		}
		if least == 0 || version < least {
			least = version
		}
		most = max(most, version)
	}
	return least, most, nil
}

// port is where clients come to: the parameter, "tls-port" if only that has listeners.
func (conf *config) port() (parameter string, number int) {
	parameter = "port"
	if conf.tlsDir != "" || conf.get("port") == "0" && conf.get("tls-port") != "0" {
		parameter = "tls-port"
	}
	number, _ = strconv.Atoi(conf.get(parameter))
	return parameter, number
}
