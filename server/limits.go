package server

import (
	"net"
	"strconv"
	"strings"

	"minikv/server/engine"
)

// number is an integer parameter of the machine, or fallback if the machine
// has no such parameter.
func (s *Server) number(name string, fallback int64) int64 {
	n, err := strconv.ParseInt(s.machine.Parameter(name), 10, 64)
	if err != nil {
		return fallback
	}
	return n
}

// checkedOutput is how much output may wait before limits are looked up.
const checkedOutput = 16 << 10

// outputLimit is one class of client-output-buffer-limit, in bytes; zero: none.
type outputLimit struct {
	hard, soft  int
	softSeconds int64
}

// overLimit reports whether so much output waits for the client that it must
// be sent away: more than the hard limit, or more than the soft limit ever
// since more than softSeconds ago, by the seconds of the clock.
// Source: checkClientOutputBufferLimits of Redis 7.0.
func (c *conn) overLimit(waiting int) bool {
	class := "normal"
	if c.session.Subscribed() {
		class = "pubsub"
	}
	limit := parseOutputLimit(c.server.machine.Parameter("client-output-buffer-limit"), class)
	if limit.hard > 0 && waiting > limit.hard {
		return true
	}
	if limit.soft == 0 || waiting <= limit.soft {
		c.softSince = 0
		return false
	}
	seconds := now().Unix()
	if c.softSince == 0 {
		c.softSince = seconds
	}
	return seconds-c.softSince > limit.softSeconds
}

// parseOutputLimit reads one class of the parameter as CONFIG GET shows it:
// "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60".
func parseOutputLimit(parameter, class string) (limit outputLimit) {
	fields := strings.Fields(parameter)
	for i := 0; i+3 < len(fields); i += 4 {
		if fields[i] == class {
			limit.hard, _ = strconv.Atoi(fields[i+1])
			limit.soft, _ = strconv.Atoi(fields[i+2])
			limit.softSeconds, _ = strconv.ParseInt(fields[i+3], 10, 64)
		}
	}
	return limit
}

// isProtected reports whether only this computer may connect: nobody has said
// that others may, and there is no password.
func (s *Server) isProtected(session *engine.Session) bool {
	return s.machine.Parameter("protected-mode") == "yes" && session.Authenticated()
}

// isLoopback reports whether a client is on this computer; what is no TCP is.
func isLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}

const errProtected = "DENIED Redis is running in protected mode because protected mode is enabled and no password is " +
	"set for the default user. In this mode connections are only accepted from the loopback interface. If you want " +
	"to connect from external computers to Redis you may adopt one of the following solutions: 1) Just disable " +
	"protected mode sending the command 'CONFIG SET protected-mode no' from the loopback interface by connecting to " +
	"Redis from the same host the server is running, however MAKE SURE Redis is not publicly accessible from " +
	"internet if you do so. Use CONFIG REWRITE to make this change permanent. 2) Alternatively you can just disable " +
	"the protected mode by editing the Redis configuration file, and setting the protected mode option to 'no', and " +
	"then restarting the server. 3) If you started the server manually just for testing, restart it with the " +
	"'--protected-mode no' option. 4) Setup a an authentication password for the default user. NOTE: You only need " +
	"to do one of the above things in order for the server to start accepting connections from the outside."
