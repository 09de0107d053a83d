package cluster

import (
	"strings"

	"minikv/datastore"
)

// address is where an instance listens.
type address struct {
	host string // as it was given
	port int
}

// String is "host:port".
func (a address) String() string { return joinAddress(a.host, a.port) }

// same reports whether two addresses are one. Without resolve-hostnames there
// are no names to resolve.
func (a address) same(b address) bool { return a.port == b.port && a.sameHost(b.host) }

func (a address) sameHost(host string) bool {
	return strings.EqualFold(resolveName(a.host), resolveName(host))
}

// resolveName is the only resolution that a process without a network can do.
func resolveName(host string) string {
	if strings.EqualFold(host, "localhost") {
		return "127.0.0.1"
	}
	return host
}

// resolves reports whether a Sentinel can find a host: it is an address in
// numbers or, with resolve-hostnames, localhost or the name of a process.
func (s *Sentinel) resolves(host string) bool {
	if isIP(host) || !s.options.resolveHostnames {
		return isIP(host)
	}
	for _, known := range s.cfg.Directory {
		if name, _ := splitAddress(known); name == host {
			return true
		}
	}
	return isIP(resolveName(host))
}

// isIP reports whether host is an address in numbers, of either version.
func isIP(host string) bool {
	head, tail, short := strings.Cut(host, "::")
	switch {
	case !strings.Contains(host, ":"):
		return isIPv4(host)
	case short:
		before, okBefore := groups(head)
		after, okAfter := groups(tail)
		return okBefore && okAfter && before+after < ipv6Groups && !strings.Contains(head, ".")
	}
	count, ok := groups(host)
	return ok && count == ipv6Groups
}

const ipv6Groups = 8

// groups counts the groups of four hexadecimal digits between colons; an IPv4
// address at the end counts as two. ok is false if something else is there.
func groups(text string) (count int, ok bool) {
	if text == "" {
		return 0, true
	}
	parts := strings.Split(text, ":")
	for i, part := range parts {
		switch {
		case i == len(parts)-1 && isIPv4(part):
			count += 2
		case part == "" || len(part) > 4 || strings.Trim(part, "0123456789abcdefABCDEF") != "":
			return 0, false
		default:
			count++
		}
	}
	return count, true
}

// isIPv4 reports whether text is four numbers between dots.
func isIPv4(text string) bool {
	parts := strings.Split(text, ".")
	for _, part := range parts {
		n, ok := datastore.ParseInteger([]byte(part))
		if !ok || n < 0 || n > 255 {
			return false
		}
	}
	return len(parts) == 4
}
