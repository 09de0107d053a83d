package partition

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
	adapter "minikv/lockclient/rueidis"
)

// idle is after which a client does nothing any more of what was asked before.
const idle = 500 * time.Millisecond

// libraries connect from a place.
var libraries = map[string]func(p place, address string) (lockclient.Transport, func(), error){
	"go-redis": func(p place, address string) (lockclient.Transport, func(), error) {
		client := redis.NewClient(&redis.Options{Addr: address, Dialer: p.dial})
		transport, err := goredis.New(context.Background(), client)
		return transport, func() { client.Close() }, err
	},
	"rueidis": func(p place, address string) (lockclient.Transport, func(), error) {
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{address},
			DialCtxFn: func(ctx context.Context, to string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return p.dial(ctx, "tcp", to)
			},
		})
		if err != nil {
			return nil, nil, err
		}
		transport, err := adapter.New(context.Background(), client)
		return transport, client.Close, err
	},
	"NewClient": func(p place, address string) (lockclient.Transport, func(), error) {
		client, err := adapter.NewClient(rueidis.ClientOption{InitAddress: []string{address}, Dialer: p.dialer()})
		if err != nil {
			return nil, nil, err
		}
		transport, err := adapter.New(context.Background(), client)
		return transport, client.Close, err
	},
}

// onEachClient runs a test with each library beside each server.
func onEachClient(t *testing.T, test func(t *testing.T, lib string, b backend)) {
	onEachServer(t, func(t *testing.T, b backend) {
		for lib := range libraries {
			t.Run(lib, func(t *testing.T) {
				t.Parallel()
				test(t, lib, b)
			})
		}
	})
}

// newClient makes a client at a place, whose connections are open and which the server
// knows the scripts of.
func newClient(t *testing.T, lib string, p place, b backend, options ...lockclient.Option) *lockclient.Client {
	transport, end, err := libraries[lib](p, b.address)
	require.NoError(t, err)
	t.Cleanup(end)
	c := lockclient.New(transport, lockclient.System(), options...)
	t.Cleanup(c.Close)
	require.NoError(t, warm(c, p))
	return c
}

// starting has one client start at a time: all at once hold each other up.
var starting sync.Mutex

// warm has a client open its connections, and the server load the scripts.
func warm(c *lockclient.Client, p place) error {
	starting.Lock()
	var all sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		all.Go(func() {
			h, err := c.Mutex(fmt.Sprintf("warm:%s:%d", p.address, i)).TryLock(context.Background())
			if err == nil {
				err = h.Unlock(context.Background())
			}
			errs[i] = err
		})
	}
	all.Wait()
	starting.Unlock()
	time.Sleep(idle)
	return errors.Join(errs...)
}

// startChild starts a process with a client that takes a lock when wants is called.
func startChild(t *testing.T, lib string, p place, b backend, key string) (child *os.Process, wants func()) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), told+"="+strings.Join([]string{lib, p.address, b.address, key}, " "))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", said)
	return cmd.Process, func() { fmt.Fprintln(in) }
}

// ask is the process that startChild starts.
func ask(words []string) {
	p := place{address: words[1]}
	transport, _, err := libraries[words[0]](p, words[2])
	if err != nil {
		panic(err)
	}
	c := lockclient.New(transport, lockclient.System())
	if err := warm(c, p); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	_, err = c.Mutex(words[3]).TryLock(context.Background())
	panic(err) // it was to be killed
}
