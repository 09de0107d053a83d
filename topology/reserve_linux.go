package topology

import (
	"net"
	"os"
	"strconv"
	"syscall"
)

// reserve binds a socket to an address at which it never listens, to any port if that is 0,
// and returns the port. As long as the socket is open the system gives the port to nobody
// who leaves it the choice, such as clients connecting elsewhere; connections to the port are
// refused, and who asks for it may listen there, since both allow the address to be used
// again (SO_REUSEADDR). If it is not possible, the file is nil and the port as given: who
// listens there learns why.
func reserve(host string, port int) (reserved *os.File, got int) {
	at, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil || at.IP == nil || at.Zone != "" {
		return nil, port
	}
	family, to := syscall.AF_INET6, syscall.Sockaddr(&syscall.SockaddrInet6{Port: port, Addr: [16]byte(at.IP.To16())})
	if ip := at.IP.To4(); ip != nil {
		family, to = syscall.AF_INET, &syscall.SockaddrInet4{Port: port, Addr: [4]byte(ip)}
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, port
	}
	reserved = os.NewFile(uintptr(fd), "reserved port")
	if syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) == nil && syscall.Bind(fd, to) == nil {
		switch own, _ := syscall.Getsockname(fd); own := own.(type) {
		case *syscall.SockaddrInet4:
			return reserved, own.Port
		case *syscall.SockaddrInet6:
			return reserved, own.Port
		}
	}
	_ = reserved.Close()
	return nil, port
}
