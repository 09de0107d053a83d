//go:build !race

package server

import (
	"syscall"
	"unsafe"
)

// What does not wait is called without the Go scheduler being told of a call that
// may: being told, it wakes a thread every 20 µs to see whether the call waits,
// which costs a tenth of a busy server's time.

// readNow reads what is there from a descriptor that does not wait.
func readNow(fd int, b []byte) (n int, err syscall.Errno) {
	return restarted(syscall.SYS_READ, fd, unsafe.Pointer(unsafe.SliceData(b)), len(b))
}

// writeNow writes what there is room for to a descriptor that does not wait.
func writeNow(fd int, b []byte) (n int, err syscall.Errno) {
	return restarted(syscall.SYS_WRITE, fd, unsafe.Pointer(unsafe.SliceData(b)), len(b))
}

// eventsNow takes the events that have come to an epoll descriptor.
func eventsNow(epoll int, events []syscall.EpollEvent) (n int, err syscall.Errno) {
	return restarted(syscall.SYS_EPOLL_PWAIT, epoll, unsafe.Pointer(unsafe.SliceData(events)), len(events))
}

// restarted makes a system call again when a signal has ended it. The fourth
// argument, a time to wait, and those behind it are zero.
func restarted(call uintptr, fd int, data unsafe.Pointer, length int) (n int, err syscall.Errno) {
	for {
		r, _, err := syscall.RawSyscall6(call, uintptr(fd), uintptr(data), uintptr(length), 0, 0, 0)
		if err != syscall.EINTR {
			return int(r), err
		}
	}
}
