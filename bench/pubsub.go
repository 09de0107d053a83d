package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// fanOut is one publisher and as many subscribers of its channel as the row has
// connections. One operation is one message that has arrived at one of them.
func fanOut() workload {
	return workload{name: "pubsub", start: func(t *target, r row) (generator, error) { return newFanOut(t, r) }}
}

const (
	fanChannel = "orders"
	fanMessage = "changed"
)

// fanOutGenerator is a generator of fanOut.
type fanOutGenerator struct {
	target      *target
	publisher   net.Conn
	answers     *bufio.Reader
	subscribers []net.Conn
}

func newFanOut(t *target, r row) (*fanOutGenerator, error) {
	g := &fanOutGenerator{target: t}
	publisher, err := net.Dial("tcp", t.addr)
	if err != nil {
		return nil, err
	}
	g.publisher, g.answers = publisher, bufio.NewReader(publisher)
	confirmed := fmt.Sprintf("*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:1\r\n", len(fanChannel), fanChannel)
	for range r.conns {
		c, err := net.Dial("tcp", t.addr)
		if err != nil {
			g.close()
			return nil, err
		}
		g.subscribers = append(g.subscribers, c)
		if _, err := c.Write(command("SUBSCRIBE", fanChannel)); err == nil {
			err = expect(c, confirmed)
		}
		if err != nil {
			g.close()
			return nil, err
		}
	}
	return g, nil
}

// expect reads exactly the bytes of want.
func expect(r io.Reader, want string) error {
	got := make([]byte, len(want))
	if n, err := io.ReadFull(r, got); err != nil || string(got) != want {
		return fmt.Errorf("got %q, want %q: %w", got[:n], want, err)
	}
	return nil
}

// close implements generator.
func (g *fanOutGenerator) close() {
	_ = g.publisher.Close()
	for _, c := range g.subscribers {
		_ = c.Close()
	}
}

// measure implements generator: it publishes for d, one message after the
// other, and waits until each subscriber has all of them.
func (g *fanOutGenerator) measure(d time.Duration) (sample, error) {
	var wg sync.WaitGroup
	errs := make([]error, len(g.subscribers))
	s := sample{histogram: newHistogram()}
	before, begun := g.target.cpu(), time.Now()
	// How many messages there will be is known at the end only: the last one differs.
	const last = "the end"
	for i, c := range g.subscribers {
		_ = c.SetDeadline(begun.Add(d + patience))
		wg.Go(func() {
			for message := ""; message != last && errs[i] == nil; {
				message, errs[i] = receive(c)
			}
		})
	}
	published, err := 0, error(nil)
	for time.Since(begun) < d && err == nil {
		err = g.publish(fanMessage, &s)
		published++
	}
	if err == nil {
		err = g.publish(last, &s)
		published++
	}
	wg.Wait()
	elapsed, used := time.Since(begun), g.target.cpu()-before
	s.operations = published * len(g.subscribers)
	s.ops = float64(s.operations) / elapsed.Seconds()
	s.cpuPerOp = float64(used) / float64(s.operations)
	return s, errors.Join(append(errs, err)...)
}

// publish sends one message, which all subscribers must be told of.
func (g *fanOutGenerator) publish(message string, s *sample) error {
	begun := time.Now()
	if _, err := g.publisher.Write(command("PUBLISH", fanChannel, message)); err != nil {
		return err
	}
	err := expect(g.answers, fmt.Sprintf(":%d\r\n", len(g.subscribers)))
	_ = s.histogram.RecordValue(time.Since(begun).Microseconds())
	return err
}

// receive reads one message; both that are published have the same length.
func receive(c net.Conn) (string, error) {
	const head = "*3\r\n$7\r\nmessage\r\n$6\r\n" + fanChannel + "\r\n$7\r\n"
	var got [len(head) + len(fanMessage) + 2]byte
	if _, err := io.ReadFull(c, got[:]); err != nil {
		return "", err
	}
	if string(got[:len(head)]) != head {
		return "", fmt.Errorf("got %q, want a message", got)
	}
	return string(got[len(head) : len(head)+len(fanMessage)]), nil
}
