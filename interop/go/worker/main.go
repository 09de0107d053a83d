package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
)

// pollPeriod is how often those wait whose library leaves the pace to its user.
const pollPeriod = 20 * time.Millisecond

// refusal is a library's own way to say that the lock is another's, or no longer
// held: the name of its error, if it has one.
type refusal string

func (r refusal) Error() string { return strings.TrimSpace("no " + string(r)) }

// errTaken is a refusal without a name.
const errTaken = refusal("")

// errNone means that the library cannot do it.
var errNone = errors.New("none")

// library is one client of a lock library. Its methods are called one at a time.
type library interface {
	// take returns a lock that is held, or a refusal. With wait it goes on until it is held.
	take(ctx context.Context, name string, lease time.Duration, wait bool) (lock, error)
	close()
}

// lock is one that is held, as far as its library knows.
type lock interface {
	// extend returns a refusal when the library says that it no longer holds.
	extend(ctx context.Context, lease time.Duration) error
	// release does so, too.
	release(ctx context.Context) error
}

// libraries by name, each with the module whose version is told.
var libraries = map[string]struct {
	open   func(address string) (library, error)
	module string
}{
	"go-redis":    {newGoRedis, "github.com/redis/go-redis/v9"},
	"redsync":     {newRedsync, "github.com/go-redsync/redsync/v4"},
	"redislock":   {newRedislock, "github.com/bsm/redislock"},
	"rueidislock": {newRueidislock, "github.com/redis/rueidis"},

	"rueidislock-defaults": {newRueidislockDefaults, "github.com/redis/rueidis"},
	"rueidislock-tracking": {newRueidislockTracking, "github.com/redis/rueidis"},
	"rueidislock-noloop":   {newRueidislockNoLoop, "github.com/redis/rueidis"},
}

// party is one that uses locks.
type party struct {
	library library
	locks   map[string]lock
}

func main() {
	var printing sync.Mutex
	parties := map[string]chan []string{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 3 {
			fmt.Fprintf(os.Stderr, "worker: no request: %q\n", lines.Text())
			os.Exit(2)
		}
		requests := parties[words[1]]
		if requests == nil {
			requests = make(chan []string, 100)
			parties[words[1]] = requests
			go func() {
				p := &party{locks: map[string]lock{}}
				for words := range requests {
					answer := p.answer(words[2], words[3:])
					printing.Lock()
					fmt.Println(words[0], answer)
					printing.Unlock()
				}
			}()
		}
		requests <- words
	}
}

// answer is what a request is answered with, behind its ID.
func (p *party) answer(verb string, arguments []string) string {
	var refused refusal
	switch err := p.obey(context.Background(), verb, arguments); {
	case err == nil && verb == "open":
		return "ok " + version(libraries[arguments[0]].module)
	case err == nil:
		return "ok"
	case errors.As(err, &refused):
		return refused.Error()
	case errors.Is(err, errNone):
		return "none"
	default:
		return "error " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
}

func (p *party) obey(ctx context.Context, verb string, arguments []string) (err error) {
	if verb == "open" {
		return p.open(arguments)
	}
	if p.library == nil {
		return errors.New("expected open LIBRARY HOST:PORT first")
	}
	if verb == "close" {
		p.library.close()
		return nil
	}
	if len(arguments) == 0 {
		return fmt.Errorf("%s: which lock", verb)
	}
	name := arguments[0]
	held := p.locks[name]
	if verb == "release" && held != nil {
		return held.release(ctx)
	}
	if len(arguments) != 2 {
		return fmt.Errorf("%s: expected a lock and a lease", verb)
	}
	millis, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	lease := time.Duration(millis) * time.Millisecond
	switch {
	case verb == "try" || verb == "wait":
		taken, err := p.library.take(ctx, name, lease, verb == "wait")
		if err == nil {
			p.locks[name] = taken
		}
		return err
	case verb == "extend" && held != nil:
		return held.extend(ctx, lease)
	}
	return fmt.Errorf("%s: unknown, or no lock %q", verb, name)
}

func (p *party) open(arguments []string) (err error) {
	if len(arguments) != 2 || libraries[arguments[0]].open == nil {
		return fmt.Errorf("open: expected a library and an address, not %q", arguments)
	}
	p.library, err = libraries[arguments[0]].open(arguments[1])
	return err
}

// version of a module that this program was built with.
func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return strings.TrimPrefix(dependency.Version, "v")
		}
	}
	return "(unknown version)"
}
