//go:build race || 386

package server

import "syscall"

// For the race detector what a client did before it wrote comes before what the
// server does when it has read, which the system calls of package syscall tell it.
// The 386 has these only.

func readNow(fd int, b []byte) (n int, err syscall.Errno) {
	return restarted(func() (int, error) { return syscall.Read(fd, b) })
}

func writeNow(fd int, b []byte) (n int, err syscall.Errno) {
	return restarted(func() (int, error) { return syscall.Write(fd, b) })
}

func eventsNow(epoll int, events []syscall.EpollEvent) (n int, err syscall.Errno) {
	return restarted(func() (int, error) { return syscall.EpollWait(epoll, events, 0) })
}

// restarted makes a system call again when a signal has ended it.
func restarted(call func() (int, error)) (int, syscall.Errno) {
	for {
		n, err := call()
		if err != syscall.EINTR {
			errno, _ := err.(syscall.Errno)
			return max(n, 0), errno
		}
	}
}
