package locks

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// party is one who uses locks, in a worker, through a front.
type party struct {
	*worker
	client
	front   *front
	id      string // which no other party of the worker has
	version string // of its library
	probes  int
}

// open has a worker connect a party with the master.
func open(t *testing.T, w *worker, c client, world world, id string) *party {
	p := &party{worker: w, client: c, front: startFront(t, world.master(), nil), id: id}
	answer := p.call(t, "open", c.library, p.front.address)
	version, found := strings.CutPrefix(answer, "ok ")
	require.True(t, found, answer)
	p.version = version
	t.Cleanup(func() { p.call(t, "close") })
	return p
}

// ask sends a request of this party.
func (p *party) ask(t *testing.T, verb string, arguments ...string) <-chan string {
	if verb == "try" || verb == "wait" || verb == "extend" {
		arguments = append(arguments, strconv.FormatInt(lease.Milliseconds(), 10))
	}
	return p.worker.ask(t, append([]string{p.id, verb}, arguments...)...)
}

func (p *party) await(t *testing.T, answer <-chan string) string {
	return tidy(p.worker.await(t, answer))
}

func (p *party) call(t *testing.T, verb string, arguments ...string) string {
	return p.await(t, p.ask(t, verb, arguments...))
}

func (p *party) try(t *testing.T, name string) string     { return p.call(t, "try", name) }
func (p *party) extend(t *testing.T, name string) string  { return p.call(t, "extend", name) }
func (p *party) release(t *testing.T, name string) string { return p.call(t, "release", name) }

// reconnect uses locks until that succeeds: the connections and the scripts are
// there now.
func (p *party) reconnect(t *testing.T) {
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		p.probes++
		probe := fmt.Sprint("probe-", p.id, "-", p.probes)
		answer := p.try(t, probe)
		if answer == "ok" && !p.renews {
			answer = p.extend(t, probe)
		}
		if answer == "ok" || answer == "none" {
			answer = p.release(t, probe)
		}
		if answer == "ok" {
			return
		}
		require.Less(t, time.Since(begun), soon, answer)
	}
}

var addresses = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// tidy takes from an answer what no two runs have in common.
func tidy(answer string) string {
	return strings.ReplaceAll(addresses.ReplaceAllString(answer, "ADDRESS"), "|", "/")
}
