package topology

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
)

// While a node is down its port is given to no connection of a client, so it can be
// started again; clients are refused there.
func TestPortOfNodeThatIsDown(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "::1", "0.0.0.0", "localhost"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			top, err := Start(Config{Plan: cluster.Plan{Masters: 2, Cluster: true}, Host: host})
			if host == "::1" && errors.Is(err, syscall.EADDRNOTAVAIL) {
				t.Skip("the machine has no IPv6: ", err)
			}
			require.NoError(t, err)
			defer top.Close()
			m1, m2 := top.Node("m1"), top.Node("m2")
			m1.Kill()
			down, err := net.ResolveTCPAddr("tcp", m1.Address())
			require.NoError(t, err)
			_, err = (&net.Dialer{LocalAddr: down}).Dial("tcp", m2.Address())
			require.ErrorIs(t, err, syscall.EADDRINUSE)
			_, err = net.Dial("tcp", m1.Address())
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
			require.NoError(t, m1.Restart(true))
			c, err := net.Dial("tcp", m1.Address())
			require.NoError(t, err)
			require.NoError(t, c.Close())
			top.Close()
			require.ErrorIs(t, m1.listening.reserved.Close(), os.ErrClosed)
		})
	}
}
