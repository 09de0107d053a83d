package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// places say where clients find what runs. Their JSON is the ready file.
type places struct {
	PID       int      `json:"pid"`
	URL       string   `json:"url,omitempty"`       // of the first node
	Nodes     []string `json:"nodes,omitempty"`     // host:port, masters first
	Sentinels []string `json:"sentinels,omitempty"` // host:port
	Masters   []string `json:"masters,omitempty"`   // what the Sentinels call them
	Socket    string   `json:"unixsocket,omitempty"`
	Control   string   `json:"control,omitempty"`  // host:port where MINIKV is answered
	Authority string   `json:"tls_ca,omitempty"`   // file of the certificate to trust, if the servers know one
	Cert      string   `json:"tls_cert,omitempty"` // file of a client's certificate
	Key       string   `json:"tls_key,omitempty"`  // and of its key
	Password  string   `json:"-"`
	encrypted bool
}

// complete fills in what follows from the rest.
func (p *places) complete() {
	p.PID = os.Getpid()
	if len(p.Nodes) > 0 {
		p.URL = p.urlOf(p.Nodes[0])
		if p.encrypted {
			p.URL = "rediss" + strings.TrimPrefix(p.URL, "redis")
		}
	}
	if p.Socket != "" {
		p.Socket = absolute(p.Socket)
	}
}

// urlOf is an address as client libraries take it. The user is named because
// redis-cli takes an empty name for one.
func (p *places) urlOf(address string) string {
	u := url.URL{Scheme: "redis", Host: address}
	if p.Password != "" {
		u.User = url.UserPassword("default", p.Password)
	}
	return u.String()
}

// environment is that of a command: what it inherits, and these places. A place that it inherits,
// as from an exec around this one, is of other servers.
func (p *places) environment(inherited []string) []string {
	env := slices.DeleteFunc(slices.Clone(inherited), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"REDIS_SENTINELS", "REDIS_SENTINEL_MASTER", "MINIKV_CONTROL",
			"REDIS_TLS_CA", "REDIS_TLS_CERT", "REDIS_TLS_KEY"}, name)
	})
	env = append(env, "REDIS_URL="+p.URL, "REDIS_NODES="+strings.Join(p.Nodes, ","))
	if len(p.Sentinels) > 0 {
		env = append(env, "REDIS_SENTINELS="+strings.Join(p.Sentinels, ","),
			"REDIS_SENTINEL_MASTER="+strings.Join(p.Masters, ","))
	}
	for name, file := range map[string]string{
		"REDIS_TLS_CA": p.Authority, "REDIS_TLS_CERT": p.Cert, "REDIS_TLS_KEY": p.Key} {
		if file != "" {
			env = append(env, name+"="+file)
		}
	}
	if p.Control != "" {
		env = append(env, "MINIKV_CONTROL="+p.urlOf(p.Control))
	}
	return env
}

// write makes the ready file, all of it at once.
func (p *places) write(path string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := writeFile(path, append(text, '\n'), publicMode); err != nil {
		return fmt.Errorf("ready-file %s: %w", path, unwrapPath(err))
	}
	return nil
}

// removeReadyFile takes away what an earlier run has left, or this one. That is never a
// link, as /dev/stdout is one, whatever it leads to.
func removeReadyFile(path string) error {
	err := checkFile(path, os.Lstat)
	if err == nil {
		err = removeFile(path)
	}
	if err != nil {
		return fmt.Errorf("ready-file %s: %w", path, unwrapPath(err))
	}
	return nil
}

// reachable is the address of a listener as a client on this computer dials it.
func reachable(address *net.TCPAddr) string {
	host := address.IP.String()
	if address.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(address.Port))
}
