package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
)

// asNothing makes this binary answer requests without reading them.
const asNothing = "BENCH_NOTHING_ADDR"

// serveNothing answers each request of lockRounds with the bytes that it wants, which
// it knows by the number of arguments, until the process is killed. It does nothing
// else: what it takes is what the system's calls take.
func serveNothing(addr string) error {
	replies := map[byte][]byte{'1': []byte("+PONG\r\n")}
	request, want, _ := lockRounds().step(0)
	for _, e := range (exchange{request, []byte(want)}).split() {
		replies[arguments(e.request)] = e.want
	}
	listener, epoll, err := listenForNothing(addr)
	if err != nil {
		return err
	}
	buf := make([]byte, 1<<16)
	var events [256]syscall.EpollEvent
	for {
		n, err := syscall.EpollWait(epoll, events[:], -1)
		if err != nil && err != syscall.EINTR {
			return fmt.Errorf("epoll_wait: %w", err)
		}
		for _, event := range events[:max(n, 0)] {
			fd := int(event.Fd)
			if fd == listener {
				if err := welcome(listener, epoll); err != nil {
					return err
				}
				continue
			}
			switch n, err := readNow(fd, buf); {
			case err == syscall.EAGAIN:
			case err != 0 || n == 0:
				_ = syscall.Close(fd)
			default:
				_, _ = writeNow(fd, answerTo(buf[:n], replies))
			}
		}
	}
}

// arguments tells requests with different numbers of arguments apart: "*11" is '@'.
func arguments(request []byte) byte {
	if request[2] != '\r' {
		return '@'
	}
	return request[1]
}

// answerTo is the reply to a request: to SCRIPT LOAD the SHA1 of the script, as a generator looks at it.
func answerTo(request []byte, replies map[byte][]byte) []byte {
	if words := bytes.Split(request, []byte("\r\n")); len(words) > 6 && string(words[2]) == "SCRIPT" {
		return fmt.Appendf(nil, "$40\r\n%s\r\n", sha(string(words[6])))
	}
	if reply, ok := replies[arguments(request)]; ok {
		return reply
	}
	return []byte("$-1\r\n")
}

func listenForNothing(addr string) (listener, epoll int, err error) {
	to, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return 0, 0, err
	}
	listener, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		err = syscall.Bind(listener, &syscall.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())})
	}
	if err == nil {
		err = syscall.Listen(listener, 511)
	}
	if err == nil {
		epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	}
	if err == nil {
		err = watchFor(epoll, listener)
	}
	return listener, epoll, err
}

// welcome lets one client in.
func welcome(listener, epoll int) error {
	fd, _, err := syscall.Accept4(listener, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	return watchFor(epoll, fd)
}

func watchFor(epoll, fd int) error {
	return syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)})
}

// limit compares acquire-release without a pipeline with a server that does nothing: no
// server gets further than that by what it does itself.
func limit(ctx context.Context, targets []*target, s settings) ([]fact, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	nothing, err := startTarget("nothing", func(port string) *exec.Cmd {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), asNothing+"=127.0.0.1:"+port)
		return cmd
	})
	if err != nil {
		return nil, err
	}
	defer nothing.stop()
	all := []*target{nothing, targets[0], targets[len(targets)-1]}
	results, err := measureRow(ctx, all, row{lockRounds(), 50, 1}, s)
	if err != nil {
		return nil, err
	}
	ops := func(s sample) float64 { return s.ops }
	return []fact{
		{"a server that does nothing, acquire-release", median(results[0], ops), "1/s"},
		{"a server that does nothing, CPU time", median(results[0], func(s sample) float64 { return s.cpuPerOp }), "ns"},
		{"a server that does nothing against minikv", ratios(results[0], results[1], ops), "ratio"},
		{"a server that does nothing against miniredis", ratios(results[0], results[2], ops), "ratio"},
	}, nil
}
