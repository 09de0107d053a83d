package server_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/server"
)

// dialers connects to a server in each way that there is.
func dialers(s *server.Server, address string) map[string]func(t *testing.T) *client {
	inMemory := func(t *testing.T) *client {
		at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
		socket, err := s.Dial(at, at)
		require.NoError(t, err)
		t.Cleanup(func() { _ = socket.Close() })
		return newClient(t, socket)
	}
	overTCP := func(t *testing.T) *client { return dial(t, address) }
	count := 0
	return map[string]func(t *testing.T) *client{
		"over TCP": overTCP, "in memory": inMemory,
		"both": func(t *testing.T) *client {
			count++
			if count%2 == 0 {
				return inMemory(t)
			}
			return overTCP(t)
		},
	}
}

// What a pause has held back goes on in the order in which it came, each client with
// all that it has sent, behind the pipeline of whoever ends the pause. RPUSH counts.
func TestOrderBehindAPause(t *testing.T) {
	s, address := start(t)
	for name, dial := range dialers(s, address) {
		t.Run(name, func(t *testing.T) {
			pausing := dial(t)
			var clients []*client
			for range 5 {
				clients = append(clients, dial(t))
			}
			for round := range 200 {
				byTime := round%100 == 99
				if byTime {
					pausing.do("CLIENT PAUSE 150 WRITE", "+OK\r\n")
				} else {
					pausing.do("CLIENT PAUSE 60000 WRITE", "+OK\r\n")
				}
				for i := range clients {
					c := clients[(round+i)%len(clients)]
					c.send("PING\r\nRPUSH l x\r\nGET none\r\nRPUSH l x\r\n")
					c.expect("+PONG\r\n") // the next one waits by now
				}
				pushed := 0
				if !byTime {
					pausing.send("CLIENT UNPAUSE\r\nRPUSH l x\r\nGET none\r\n")
					pausing.expect("+OK\r\n:1\r\n$-1\r\n")
					pushed = 1
				}
				for i := range clients {
					clients[(round+i)%len(clients)].expect(fmt.Sprintf(":%d\r\n$-1\r\n:%d\r\n", pushed+1, pushed+2))
					pushed += 2
				}
				pausing.do("DEL l", ":1\r\n")
			}
		})
	}
}

// Those who waited for keys go on in the order in which they got them.
func TestOrderBehindBlocking(t *testing.T) {
	s, address := start(t)
	for name, dial := range dialers(s, address) {
		t.Run(name, func(t *testing.T) {
			a, b, pusher := dial(t), dial(t), dial(t)
			for range 200 {
				for _, c := range []*client{a, b} {
					key := map[*client]string{a: "a", b: "b"}[c]
					c.send("PING\r\nBLPOP " + key + " 0\r\nRPUSH l x\r\nRPUSH l x\r\n")
					c.expect("+PONG\r\n")
				}
				pusher.send("RPUSH b 1\r\nRPUSH a 1\r\nRPUSH l x\r\n")
				pusher.expect(":1\r\n:1\r\n:1\r\n")
				a.expect("*2\r\n$1\r\na\r\n$1\r\n1\r\n:4\r\n:5\r\n")
				b.expect("*2\r\n$1\r\nb\r\n$1\r\n1\r\n:2\r\n:3\r\n")
				pusher.do("DEL l", ":1\r\n")
			}
		})
	}
}

// Who is sent away while others go on, or sends something wrong, does not go on, but
// gets the replies that it has earned.
func TestLeavingBehindAPause(t *testing.T) {
	s, address := start(t)
	for name, dial := range dialers(s, address) {
		t.Run(name, func(t *testing.T) {
			const quits = 20 // so many that some are gone before the others' replies are written
			pausing, wrong, last := dial(t), dial(t), dial(t)
			pausing.do("CLIENT PAUSE 60000 WRITE", "+OK\r\n")
			leaving := []*client{wrong}
			wrong.send("PING\r\nRPUSH l x\r\n*x\r\nRPUSH l x\r\n")
			for range quits {
				c := dial(t)
				c.send("PING\r\nRPUSH l x\r\nQUIT\r\nRPUSH l x\r\n")
				leaving = append(leaving, c)
			}
			for _, c := range leaving {
				c.expect("+PONG\r\n")
			}
			last.send("PING\r\nRPUSH l x\r\nLLEN l\r\n")
			last.expect("+PONG\r\n")
			pausing.do("CLIENT UNPAUSE", "+OK\r\n")
			last.expect(fmt.Sprintf(":%d\r\n:%[1]d\r\n", quits+2))
			for _, c := range leaving {
				_, err := c.in.ReadString('\n')
				require.NoError(t, err)
				c.expect(map[bool]string{true: "-ERR Protocol error: invalid multibulk length\r\n",
					false: "+OK\r\n"}[c == wrong])
				c.expectClosed()
			}
			pausing.do("DEL l", ":1\r\n")
		})
	}
}
