package main

import (
	"syscall"
	"unsafe"
)

// What does not wait is called without the Go scheduler being told of a call that
// may: being told, it wakes a thread every 20 µs to see whether the call waits,
// which costs a tenth of the generator's time.

// readNow reads what is there from a descriptor that does not wait.
func readNow(fd int, b []byte) (int, syscall.Errno) {
	n, _, err := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)))
	return int(n), err
}

// writeNow writes what there is room for to a descriptor that does not wait.
func writeNow(fd int, b []byte) (int, syscall.Errno) {
	n, _, err := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)))
	return int(n), err
}
