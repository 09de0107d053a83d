package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"minikv/server"
)

// errNowhere is redis-server's.
var errNowhere = errors.New("Configured to not listen anywhere, exiting.")

// listen opens the configured addresses and socket, by the parameter that orders them.
// Port 0 is none of TCP, or a free one if that is wanted, which is then the configured
// one. The error is one line that says what stands in the way.
func listen(conf *config, free bool) (opened map[string][]net.Listener, err error) {
	opened = map[string][]net.Listener{}
	defer func() {
		if err != nil {
			closeAll(opened)
		}
	}()
	first, _ := conf.port()
	for _, parameter := range []string{"port", "tls-port"} {
		if conf.get(parameter) == "0" && !(free && parameter == first) {
			continue
		}
		if opened[parameter], err = listenTCP(conf, parameter); err != nil {
			return opened, err
		}
	}
	if path := conf.get("unixsocket"); path != "" {
		listener, err := listenUnix(path, conf.get("unixsocketperm"))
		if err != nil {
			return opened, fmt.Errorf("Failed opening Unix socket: %w", err)
		}
		opened["unixsocket"] = []net.Listener{listener}
	}
	if len(opened) == 0 {
		return opened, errNowhere
	}
	return opened, nil
}

func closeAll(opened map[string][]net.Listener) {
	for _, listeners := range opened {
		for _, l := range listeners {
			_ = l.Close()
		}
	}
}

// listenTCP opens the addresses of bind, at the port of a parameter. What it has opened
// comes with an error too.
func listenTCP(conf *config, parameter string) (listeners []net.Listener, err error) {
	for _, address := range strings.Fields(conf.get("bind")) {
		optional := strings.HasPrefix(address, "-")
		network, host := bindAddress(strings.TrimPrefix(address, "-"))
		listener, err := server.Bind(network, net.JoinHostPort(host, conf.get(parameter)))
		if err != nil && optional && isUnavailable(err) {
			continue
		}
		if err != nil {
			return listeners, listenError(err)
		}
		listeners = append(listeners, listener)
		conf.values[parameter] = strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	}
	return listeners, nil
}

// listenUnix opens a socket; permissions are octal, or 0 for the usual ones.
func listenUnix(path, permissions string) (net.Listener, error) {
	if err := removeFile(path); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if mode, _ := strconv.ParseUint(permissions, 8, 32); mode != 0 {
		err = os.Chmod(path, fs.FileMode(mode))
	}
	return listener, err
}

// listenError says which address cannot be had.
func listenError(err error) error {
	var failed *net.OpError
	if !errors.As(err, &failed) || failed.Addr == nil {
		return err
	}
	_, port, _ := net.SplitHostPort(failed.Addr.String())
	cause := failed.Err
	var call *os.SyscallError
	if errors.As(cause, &call) {
		cause = call.Err
	}
	return fmt.Errorf("Failed listening on port %s (TCP), aborting: %s: %w", port, failed.Addr, cause)
}

// bindAddress reads an address of the bind directive; * and ::* are all
// addresses of a family.
func bindAddress(address string) (network, host string) {
	switch address {
	case "*":
		return "tcp4", "0.0.0.0"
	case "::*":
		return "tcp6", "::"
	}
	return "tcp", address
}

// oneHost is where each of several nodes listens: at the first address of bind,
// or at all of both families, if the computer has both. Optional ones are left out.
func oneHost(addresses []string) (host string, err error) {
	switch {
	case len(addresses) == 0:
		return "", errNowhere
	case len(addresses) == 2 && addresses[0] == "*" && strings.TrimPrefix(addresses[1], "-") == "::*":
		if probe, err := server.Bind("tcp6", "[::]:0"); err == nil {
			_ = probe.Close()
			return "::", nil // the IPv4 ones too
		}
		return "0.0.0.0", nil
	}
	for _, address := range addresses[1:] {
		if !strings.HasPrefix(address, "-") {
			return "", fmt.Errorf("bind %s: expected one address for several nodes, or for options that only minikv has",
				strings.Join(addresses, " "))
		}
	}
	_, host = bindAddress(strings.TrimPrefix(addresses[0], "-"))
	return host, nil
}

// isUnavailable reports whether this computer lacks an address, or its whole family.
func isUnavailable(err error) bool {
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) ||
		errors.Is(err, syscall.EPROTONOSUPPORT)
}
