package cluster

import (
	"net/netip"
	"strconv"
	"strings"
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

// resolveName is the only resolution that a process without a network can do:
// what is an address in numbers gets its usual form.
func resolveName(host string) string {
	if strings.EqualFold(host, "localhost") {
		return "127.0.0.1"
	}
	if ip, ok := numeric(host); ok {
		return ip
	}
	return host
}

// resolves reports whether a Sentinel can find a host: it is an address in
// numbers or, with resolve-hostnames, localhost or the name of a process.
func (s *Sentinel) resolves(host string) bool {
	if _, ok := numeric(host); ok || !s.options.resolveHostnames {
		return ok
	}
	for _, known := range s.cfg.Directory {
		if name, _ := splitAddress(known); name == host {
			return true
		}
	}
	return isIP(resolveName(host))
}

// isIP reports whether host is an address in numbers, of either version.
// Source: inet_pton, which clusterStartHandshake of Redis 7.0 asks.
func isIP(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Zone() == ""
}

// numeric is the usual form of an address in numbers, in which more is allowed
// than for isIP: fewer parts, of other bases, and an IPv6 zone's number.
// Source: anetResolve of Redis 7.0, getaddrinfo with AI_NUMERICHOST.
func numeric(host string) (ip string, ok bool) {
	ip, zone, _ := strings.Cut(host, "%")
	if strings.Contains(ip, ":") {
		six, err := netip.ParseAddr(ip)
		return inUsualForm(six), err == nil && strings.Trim(zone, "0123456789") == "" && zone != "" == (ip != host)
	}
	return shortIPv4(host)
}

// inUsualForm writes an IPv6 address as inet_ntop does, the first of which are
// those of IPv4 in an older form.
func inUsualForm(ip netip.Addr) string {
	raw := ip.As16()
	if [12]byte(raw[:12]) == [12]byte{} && (raw[12] != 0 || raw[13] != 0) {
		return "::" + netip.AddrFrom4([4]byte(raw[12:])).String()
	}
	return ip.String()
}

// shortIPv4 reads one to four numbers, decimal, octal or hexadecimal, of which
// the last fills the bytes that are left. Source: inet_aton.
func shortIPv4(text string) (ip string, ok bool) {
	parts := strings.Split(text, ".")
	last := len(parts) - 1
	if last > 3 {
		return "", false
	}
	var all uint64
	for i, part := range parts {
		limit := uint64(1) << 8
		if i == last {
			limit = 1 << (8 * (4 - last))
		}
		n, err := strconv.ParseUint(part, 0, 64)
		if err != nil || n >= limit || strings.Trim(part, "0123456789abcdefABCDEFxX") != "" || binary(part) {
			return "", false
		}
		if i == last {
			all |= n
		} else {
			all |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(all >> 24), byte(all >> 16), byte(all >> 8), byte(all)}).String(), true
}

// binary reports whether a number is one to Go only.
func binary(part string) bool { return strings.HasPrefix(strings.ToLower(part), "0b") }
