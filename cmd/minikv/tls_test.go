package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// trusting is a client's configuration that trusts the certificate in a file.
func trusting(t *testing.T, file string) *tls.Config {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(text))
	return &tls.Config{RootCAs: pool}
}

// askTLS is ask over TLS.
func askTLS(t *testing.T, port string, trusted *tls.Config, line string) string {
	t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", "127.0.0.1:"+port, trusted)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(conn, line+"\r\nQUIT\r\n")
	require.NoError(t, err)
	text, err := io.ReadAll(conn)
	require.NoError(t, err)
	return strings.TrimSuffix(string(text), "+OK\r\n")
}

// The folder of --tls is filled once, and the command is told where its files are.
func TestExecOverTLS(t *testing.T) {
	const show = `printf '%s\n' "$REDIS_URL" "$REDIS_TLS_CA" "$REDIS_TLS_CERT" "$REDIS_TLS_KEY"`
	dir := filepath.Join(t.TempDir(), "new", "certificates")
	var authority []byte
	for _, args := range [][]string{{"--tls", "elsewhere"}, {"--cluster", "3x1"}, {"--sentinel", "1x1", "--control"},
		{"--requirepass", "x"}} {
		code, stdout, stderr := runExec(append(args, "--tls", dir, "--", "sh", "-c", show)...)
		assert.Equal(t, 0, code, "%q: %s", args, stderr)
		assert.Regexp(t, `^rediss://(default:x@)?127.0.0.1:\d+\n`+dir+"/ca.crt\n"+dir+"/client.crt\n"+dir+"/client.key\n$",
			stdout, "%q", args)
		made, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
		require.NoError(t, err)
		if authority == nil {
			authority = made
		}
		assert.Equal(t, authority, made, "made again")
	}
	secret, err := os.Stat(filepath.Join(dir, "redis.key"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), secret.Mode())

	for _, name := range []string{"REDIS_TLS_CA", "REDIS_TLS_CERT", "REDIS_TLS_KEY"} {
		t.Setenv(name, "of other servers")
	}
	_, stdout, _ := runExec("--", "sh", "-c", show)
	assert.Regexp(t, `^redis://127.0.0.1:\d+\n\n\n\n$`, stdout)

	require.NoError(t, os.Remove(filepath.Join(dir, "redis.key")))
	code, _, stderr := runExec("--tls", dir, "--", "true")
	assert.Equal(t, 2, code)
	assert.Equal(t, "minikv: --tls "+dir+": has no redis.key: expected all of ca.crt, redis.crt, redis.key, client.crt, "+
		"client.key, or none, to have them made\n", stderr)
}

// Every node of a cluster speaks TLS, and tells clients ports that do.
func TestClusterOverTLS(t *testing.T) {
	port, dir := freePorts(t, 4), t.TempDir()
	first, control := strconv.Itoa(port), strconv.Itoa(port+3)
	p := launch(t, "--cluster", "3x0", "--port", first, "--bind", "127.0.0.1", "--tls", dir, "--control")
	p.expectLine("TLS: clients may trust " + dir + "/ca.crt")
	p.expectLine("Ready to accept connections")
	trusted := trusting(t, filepath.Join(dir, "ca.crt"))
	assert.Equal(t, "-MOVED 15495 127.0.0.1:"+strconv.Itoa(port+2)+"\r\n", askTLS(t, first, trusted, "GET a"))
	assert.Equal(t, "$-1\r\n", askTLS(t, strconv.Itoa(port+2), trusted, "GET a"))
	shards := askTLS(t, first, trusted, "CLUSTER SHARDS")
	assert.Contains(t, shards, "$8\r\ntls-port\r\n:"+first+"\r\n")
	assert.NotContains(t, shards, "$4\r\nport\r\n")
	assert.Equal(t, "*4\r\n$4\r\nport\r\n$1\r\n0\r\n$8\r\ntls-port\r\n$5\r\n"+first+"\r\n",
		askTLS(t, first, trusted, "CONFIG GET port tls-port"))
	assert.Contains(t, askTLS(t, first, trusted, "INFO server"), "\r\ntcp_port:"+first+"\r\n")
	assert.Equal(t, "+PONG\r\n", ask(t, "tcp", "127.0.0.1:"+control, "PING"), "the control port is plain")
	assert.Contains(t, ask(t, "tcp", "127.0.0.1:"+control, "INFO", "server"), "\r\ntcp_port:"+control+"\r\n")
	for _, verb := range []string{"KILL", "RESTART"} {
		assert.Equal(t, "+OK\r\n", ask(t, "tcp", "127.0.0.1:"+control, "MINIKV", verb, "m3"))
	}
	assert.Equal(t, "+PONG\r\n", askTLS(t, strconv.Itoa(port+2), trusted, "PING"), "it speaks TLS again")
}

// One server listens at both ports, which CONFIG SET moves, as redis-server does.
func TestBothPorts(t *testing.T) {
	dir := t.TempDir()
	code, _, _ := runExec("--tls", dir, "--", "true")
	require.Equal(t, 0, code)
	ports := freePorts(t, 3)
	plain, secure, next := strconv.Itoa(ports), strconv.Itoa(ports+1), strconv.Itoa(ports+2)
	ready := filepath.Join(dir, "ready.json")
	p := launch(t, "--port", plain, "--tls-port", secure, "--bind", "127.0.0.1", "--tls-auth-clients", "no",
		"--tls-cert-file", dir+"/redis.crt", "--tls-key-file", dir+"/redis.key", "--ready-file", ready)
	p.expectLine("Running mode=standalone, port=" + plain + ".")
	p.expectLine("Ready to accept connections")
	text, err := os.ReadFile(ready)
	require.NoError(t, err)
	var where map[string]any
	require.NoError(t, json.Unmarshal(text, &where))
	assert.Equal(t, "redis://127.0.0.1:"+plain, where["url"])
	trusted := trusting(t, dir+"/ca.crt")
	assert.Equal(t, "+OK\r\n", askTLS(t, secure, trusted, "SET a 1"))
	assert.Equal(t, "$1\r\n1\r\n", ask(t, "tcp", "127.0.0.1:"+plain, "GET", "a"))
	const taken = "-ERR CONFIG SET failed (possibly related to argument 'tls-port') - Unable to listen on this port. " +
		"Check server logs.\r\n"
	assert.Equal(t, taken, ask(t, "tcp", "127.0.0.1:"+plain, "CONFIG", "SET", "port", next, "tls-port", next))
	assert.Equal(t, "+PONG\r\n", ask(t, "tcp", "127.0.0.1:"+plain, "PING"), "nothing has changed")
	assert.Equal(t, "+OK\r\n", ask(t, "tcp", "127.0.0.1:"+plain, "CONFIG", "SET", "tls-port", next, "port", "0"))
	assert.Equal(t, "$1\r\n1\r\n", askTLS(t, next, trusted, "GET a"))
	for _, port := range []string{plain, secure} {
		_, err := net.Dial("tcp", "127.0.0.1:"+port)
		assert.Error(t, err)
	}
}

// A certificate that is there lets CONFIG SET begin with TLS; without one the log says why not.
func TestTLSBegins(t *testing.T) {
	dir := t.TempDir()
	code, _, _ := runExec("--tls", dir, "--", "true")
	require.Equal(t, 0, code)
	ports := freePorts(t, 2)
	plain, secure := strconv.Itoa(ports), strconv.Itoa(ports+1)
	p := launch(t, "--port", plain, "--bind", "127.0.0.1", "--tls-auth-clients", "no",
		"--tls-cert-file", dir+"/redis.crt", "--tls-key-file", dir+"/redis.key")
	p.expectLine("Ready to accept connections")
	assert.Equal(t, "+OK\r\n", ask(t, "tcp", "127.0.0.1:"+plain, "CONFIG", "SET", "tls-port", secure))
	assert.Equal(t, "+PONG\r\n", askTLS(t, secure, trusting(t, dir+"/ca.crt"), "PING"))
	require.NoError(t, p.cmd.Process.Kill())
	p.expectExit(-1) // its port is free then

	p = launch(t, "--port", plain, "--bind", "127.0.0.1", "--tls-cert-file", "nowhere", "--tls-key-file", "nowhere")
	p.expectLine("Ready to accept connections")
	assert.Equal(t, "-ERR CONFIG SET failed (possibly related to argument 'tls-port') - Unable to update TLS "+
		"configuration. Check server logs.\r\n", ask(t, "tcp", "127.0.0.1:"+plain, "CONFIG", "SET", "tls-port", secure))
	p.expectLine("CONFIG SET tls-port: the server had no usable certificate and key when it started")
}

// Of several that begin with an empty folder one makes the certificates, and all use them.
func TestTLSFolderOfMany(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certificates")
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() { errs <- provide(dir, nil) }()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	authority := trusting(t, filepath.Join(dir, "ca.crt")).RootCAs
	for _, name := range []string{"redis", "client"} {
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
		require.NoError(t, err)
		_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: authority,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		require.NoError(t, err)
	}
}

// Clients are asked for certificates as tls-auth-clients says.
func TestClientCertificates(t *testing.T) {
	dir := t.TempDir()
	code, _, _ := runExec("--tls", dir, "--", "true")
	require.Equal(t, 0, code)
	for auth, served := range map[string][2]bool{"no": {true, true}, "optional": {true, true}, "YES": {false, true}} {
		t.Run(auth, func(t *testing.T) {
			port := freePort(t)
			p := launch(t, "--port", port, "--bind", "127.0.0.1", "--tls", dir, "--tls-auth-clients", auth)
			p.expectLine("Ready to accept connections")
			with := trusting(t, dir+"/ca.crt")
			own, err := tls.LoadX509KeyPair(dir+"/client.crt", dir+"/client.key")
			require.NoError(t, err)
			with.Certificates = []tls.Certificate{own}
			for i, trusted := range []*tls.Config{trusting(t, dir+"/ca.crt"), with} {
				assert.Equal(t, served[i], pings(t, port, trusted))
			}
		})
	}
}

// pings reports whether a server answers.
func pings(t *testing.T, port string, trusted *tls.Config) bool {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", "127.0.0.1:"+port, trusted)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(conn, "PING\r\n")
	line, err := bufio.NewReader(conn).ReadString('\n')
	return err == nil && line == "+PONG\r\n"
}

// What cannot be used of TLS ends the program before anything listens.
func TestTLSThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	code, _, _ := runExec("--tls", dir, "--", "true")
	require.Equal(t, 0, code)
	key := []string{"--tls-cert-file", dir + "/redis.crt", "--tls-key-file", dir + "/redis.key"}
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	const failed = "minikv: Failed to configure TLS: "
	for _, c := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"--tls-port", "7"}, failed + "No tls-cert-file configured!\n"},
		{[]string{"--tls-replication", "Yes"}, failed + "No tls-cert-file configured!\n"},
		{append(key[:2:2], "--tls-port", "7"), failed + "No tls-key-file configured!\n"},
		{append(key[:4:4], "--tls-port", "7"), failed + "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when " +
			"tls-cluster, tls-replication or tls-auth-clients are enabled!\n"},
		{append(key[:4:4], "--tls-port", "7", "--tls-ca-cert-file", "nowhere"),
			failed + "CA certificate nowhere: no such file or directory\n"},
		{append(key[:4:4], "--tls-port", "7", "--tls-ca-cert-file", empty),
			failed + "CA certificate " + empty + ": no certificate in it\n"},
		{append(key[:4:4], "--tls-port", "7", "--tls-ca-cert-dir", "nowhere"),
			failed + "tls-ca-cert-dir nowhere: no such file or directory\n"},
		{append(key[:4:4], "--tls-port", "7", "--tls-auth-clients", "no", "--tls-protocols", "SSLv3"), failed +
			"Invalid tls-protocols specified. Use a combination of 'TLSv1', 'TLSv1.1', 'TLSv1.2' and 'TLSv1.3'.\n"},
		{append(key[:4:4], "--tls-port", "7", "--tls-key-file-pass", "x"), failed +
			"tls-key-file-pass: not supported: take the password away with openssl pkey -in FILE -out FILE\n"},
		{[]string{"--tls", ""}, "minikv: --tls : expected a folder\n"},
		{[]string{"--tls-port", "7", "--tls", dir}, "minikv: --tls " + dir + ": not possible together with tls-port 7\n"},
		{append(key[:4:4], "--cluster", "3x0", "--port", "8", "--tls-port", "7"),
			"minikv: --cluster 3x0: together with tls-port 7 expected --port 0: each node has one port\n"},
	} {
		code, _, stderr := runExec(append(c.args, "--", "true")...)
		assert.Equal(t, 2, code, "%q", c.args)
		assert.Equal(t, c.stderr, stderr, "%q", c.args)
	}
}

// Protocols outside of tls-protocols are refused.
func TestTLSProtocols(t *testing.T) {
	port, dir := freePort(t), t.TempDir()
	p := launch(t, "--port", port, "--bind", "127.0.0.1", "--tls", dir, "--tls-protocols", "TLSv1.2")
	p.expectLine("Ready to accept connections")
	old, latest := trusting(t, dir+"/ca.crt"), trusting(t, dir+"/ca.crt")
	old.MaxVersion, latest.MinVersion = tls.VersionTLS12, tls.VersionTLS13
	assert.True(t, pings(t, port, old))
	assert.False(t, pings(t, port, latest))
	p.expectLine("Error accepting a client connection: tls: client offered only unsupported versions")
}

// Certificates that were made for one address do not fit another; whoever made them with
// an authority of their own may want it so.
func TestCertificatesForOtherHost(t *testing.T) {
	dir := t.TempDir()
	logged := func(bind string) string {
		var log strings.Builder
		conf := &config{values: map[string]string{}}
		require.NoError(t, conf.load([]byte("bind "+bind)))
		require.NoError(t, conf.speakTLS(dir))
		_, err := conf.encryption(&logger{out: &log})
		require.NoError(t, err)
		return log.String()
	}
	assert.Empty(t, logged("127.0.0.1 127.0.0.2 0.0.0.0"))
	assert.Empty(t, logged("127.0.0.2"))
	assert.Regexp(t, "# --tls "+dir+": clients that check the host will refuse redis.crt: x509: certificate is valid for "+
		`127.0.0.1, 127.0.0.2, ::1, not 127.0.0.3. An empty folder gets certificates for it.\n$`, logged("-127.0.0.3"))
}
