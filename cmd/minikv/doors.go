package main

import (
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"strconv"

	"minikv/server"
)

// doors are the listeners of a server, which CONFIG SET port and tls-port exchange.
type doors struct {
	conf       *config // as the server was started
	encryption *tls.Config
	logs       *logger
	shell      *server.Server
	open       map[string][]net.Listener // the present ones, by parameter
}

// serve serves the clients that listeners accept, by parameter, in the background. As
// the first of these clients may already exchange them, it begins when all are noted.
func (d *doors) serve(opened map[string][]net.Listener) {
	var all []net.Listener
	for parameter, listeners := range opened {
		d.open[parameter] = listeners
		for i := range listeners {
			if parameter == "tls-port" {
				listeners[i] = tls.NewListener(listeners[i], d.encryption)
			}
		}
		all = append(all, listeners...)
	}
	for _, listener := range all {
		go func() {
			err := d.shell.Serve(listener)
			if !errors.Is(err, server.ErrClosed) && !errors.Is(err, net.ErrClosed) {
				d.logs.log(server.LevelWarning, err.Error())
			}
		}()
	}
}

// rebind listens at another port, 0: at none; who is connected stays. It is called
// by the node.
func (d *doors) rebind(parameter string, port int) error {
	there := *d.conf
	there.values = maps.Clone(d.conf.values)
	there.values[parameter] = strconv.Itoa(port)
	var opened []net.Listener
	if port != 0 {
		var err error
		if opened, err = listenTCP(&there, parameter); err != nil {
			for _, listener := range opened {
				_ = listener.Close()
			}
			d.logs.log(server.LevelWarning, err.Error())
			return err
		}
	}
	for _, listener := range d.open[parameter] {
		d.shell.Unlisten(listener)
	}
	d.serve(map[string][]net.Listener{parameter: opened})
	return nil
}
