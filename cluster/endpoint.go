package cluster

import "strconv"

// What clients are told to connect to: cluster-preferred-endpoint-type.
const (
	ipEndpoint       = "ip"
	hostnameEndpoint = "hostname"
	unknownEndpoint  = "unknown-endpoint" // what they are connected to, at another port
)

func (b *busNode) prefers() string { return b.node().Parameter("cluster-preferred-endpoint-type") }

// hostname is the name that a node has announced, or "".
func (b *busNode) hostname(p *peer) string {
	if p == b.self {
		return b.node().Parameter("cluster-announce-hostname")
	}
	return p.hostname
}

// endpoint is where clients find a node.
// Source: getPreferredEndpoint of Redis 7.0.
func (b *busNode) endpoint(p *peer) string {
	switch b.prefers() {
	case hostnameEndpoint:
		if name := b.hostname(p); name != "" {
			return name
		}
		return "?"
	case unknownEndpoint:
		return ""
	}
	return p.host
}

// redirection is where clients are sent for what a node serves.
func (b *busNode) redirection(to *peer) string {
	if b.prefers() == ipEndpoint {
		return to.address
	}
	return b.endpoint(to) + ":" + strconv.Itoa(to.port)
}
