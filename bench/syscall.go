package main

import (
	"syscall"
	"time"
	"unsafe"
)

// cpu is the CPU time that the process has used, user and system: each process has
// a clock of it, which is exact, where /proc has hundredths of a second.
//
// Source: clock_getcpuclockid(3).
func (t *target) cpu() time.Duration {
	const scheduled = 2 // the time on a processor, in nanoseconds
	clock := ^t.cmd.Process.Pid<<3 | scheduled
	var used syscall.Timespec
	_, _, err := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&used)), 0)
	if err != 0 {
		return 0
	}
	return time.Duration(used.Nano())
}

// What does not wait is called without the Go scheduler being told of a call that
// may: being told, it wakes a thread every 20 µs to see whether the call waits,
// which costs a tenth of the generator's time.

// readNow reads what is there from a socket that does not wait.
func readNow(fd int, b []byte) (int, syscall.Errno) {
	return socketCall(syscall.SYS_RECVFROM, fd, b, 0)
}

// writeNow writes what there is room for to a socket that does not wait.
func writeNow(fd int, b []byte) (int, syscall.Errno) {
	return socketCall(syscall.SYS_SENDTO, fd, b, syscall.MSG_NOSIGNAL)
}

// socketCall is recv or send, which cost less than read and write of a file.
func socketCall(call uintptr, fd int, b []byte, flags uintptr) (int, syscall.Errno) {
	n, _, err := syscall.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		flags, 0, 0)
	return int(n), err
}
