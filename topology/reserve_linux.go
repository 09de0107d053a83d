package topology

import (
	"net"
	"os"
	"syscall"
)

// reserve binds a socket to an address at which it never listens. As long as it is open
// the system gives the port to nobody who leaves it the choice, such as clients connecting
// elsewhere; connections to the port are refused, and who asks for it may listen there,
// since both allow the address to be used again (SO_REUSEADDR). If that is not possible
// the file is nil.
func reserve(at *net.TCPAddr) *os.File {
	family, to := syscall.AF_INET6, syscall.Sockaddr(&syscall.SockaddrInet6{Port: at.Port, Addr: [16]byte(at.IP.To16())})
	if ip := at.IP.To4(); ip != nil {
		family, to = syscall.AF_INET, &syscall.SockaddrInet4{Port: at.Port, Addr: [4]byte(ip)}
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	reserved := os.NewFile(uintptr(fd), "reserved port")
	if syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) == nil && syscall.Bind(fd, to) == nil {
		return reserved
	}
	_ = reserved.Close()
	return nil
}
