//go:build !race && !386

package server

import (
	"syscall"
	"unsafe"
)

// What does not wait is called without the Go scheduler being told of a call that
// may: being told, it wakes a thread every 20 µs to see whether the call waits,
// which costs a tenth of a busy server's time.

// recv and send of a socket cost less than read and write of a file.

// readNow reads what is there from a socket that does not wait.
func readNow(fd int, b []byte) (n int, err syscall.Errno) {
	return restarted(syscall.SYS_RECVFROM, fd, unsafe.Pointer(unsafe.SliceData(b)), len(b), 0)
}

// writeNow writes what there is room for to a socket that does not wait.
func writeNow(fd int, b []byte) (n int, err syscall.Errno) {
	return restarted(syscall.SYS_SENDTO, fd, unsafe.Pointer(unsafe.SliceData(b)), len(b), syscall.MSG_NOSIGNAL)
}

// eventsNow takes the events that have come to an epoll descriptor.
func eventsNow(epoll int, events []syscall.EpollEvent) (n int, err syscall.Errno) {
	return restarted(syscall.SYS_EPOLL_PWAIT, epoll, unsafe.Pointer(unsafe.SliceData(events)), len(events), 0)
}

// restarted makes a system call again when a signal has ended it. Its fourth
// argument is flags, or a time to wait; those behind it are zero.
func restarted(call uintptr, fd int, data unsafe.Pointer, length int, fourth uintptr) (n int, err syscall.Errno) {
	for {
		r, _, err := syscall.RawSyscall6(call, uintptr(fd), uintptr(data), uintptr(length), fourth, 0, 0)
		if err != syscall.EINTR {
			return int(r), err
		}
	}
}
