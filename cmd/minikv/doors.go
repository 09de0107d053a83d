package main

import (
	"errors"
	"maps"
	"net"
	"strconv"

	"minikv/server"
)

// doors are the listeners of a server, which CONFIG SET port exchanges.
type doors struct {
	conf  *config // as the server was started
	logs  *logger
	shell *server.Server
	tcp   []net.Listener // the present ones
}

// serve serves the clients that listeners accept, in the background.
func (d *doors) serve(listeners []net.Listener) {
	for _, listener := range listeners {
		if _, isTCP := listener.Addr().(*net.TCPAddr); isTCP {
			d.tcp = append(d.tcp, listener)
		}
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
func (d *doors) rebind(port int) error {
	there := *d.conf
	there.values = maps.Clone(d.conf.values)
	there.values["port"] = strconv.Itoa(port)
	var opened []net.Listener
	if port != 0 {
		var err error
		if opened, err = listenTCP(&there); err != nil {
			for _, listener := range opened {
				_ = listener.Close()
			}
			d.logs.log(server.LevelWarning, err.Error())
			return err
		}
	}
	for _, listener := range d.tcp {
		d.shell.Unlisten(listener)
	}
	d.tcp = nil
	d.serve(opened)
	return nil
}
