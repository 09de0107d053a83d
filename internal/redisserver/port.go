package redisserver

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports that FreeAddress chooses from. Systems give none of them to outgoing
// connections, so that one that is free stays so until a server has it.
const firstPort, ports = 10000, 6000

// FreeAddress is an address of this machine, for a server that is to be started.
func FreeAddress() (string, error) {
	for range 100 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(ports)))
		if listener, err := net.Listen("tcp", address); err == nil {
			return address, listener.Close()
		}
	}
	return "", errors.New("redisserver: no free port was found")
}
