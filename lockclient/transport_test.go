package lockclient_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

func TestRedirect(t *testing.T) {
	for text, want := range map[string]struct {
		addr       string
		asking, ok bool
	}{
		"MOVED 8718 127.0.0.1:7001": {"127.0.0.1:7001", false, true},
		"ASK 8718 ::1:7001":         {"::1:7001", true, true},
		"ASK 8718":                  {},
		"MOVED":                     {},
		"ERR MOVED 1":               {},
		"TRYAGAIN Multiple keys request during rehashing of slot": {},
	} {
		addr, asking, ok := (&lockclient.ServerError{Text: text}).Redirect()
		assert.Equal(t, want.addr, addr, text)
		assert.Equal(t, want.asking, asking, text)
		assert.Equal(t, want.ok, ok, text)
	}
}

// What a cluster refuses while a slot moves is asked again, for as long as a
// request may take, but not longer than the caller wants to wait.
func TestRefusedByACluster(t *testing.T) {
	moving := &lockclient.ServerError{Text: "TRYAGAIN Multiple keys request during rehashing of slot"}
	for name, test := range map[string]struct {
		refuses time.Duration
		wait    time.Duration // negative: no limit
		taken   bool
		most    time.Duration // that the call may take
	}{
		"for a while":        {time.Second, -1, true, 1500 * time.Millisecond},
		"for ever":           {time.Hour, -1, false, 3 * time.Second},
		"one attempt":        {time.Second, 0, false, 0},
		"within the wait":    {time.Second, 2 * time.Second, true, 1500 * time.Millisecond},
		"longer than a wait": {time.Second, 500 * time.Millisecond, false, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
					if time.Since(begun) < test.refuses {
						return lockclient.Reply{}, moving
					}
					return free(script, keys)
				}}
				var opts []lockclient.LockOption
				if test.wait >= 0 {
					opts = append(opts, lockclient.Wait(test.wait))
				}
				h, err := lockclient.New(w, lockclient.System()).Mutex("a").Lock(t.Context(), opts...)
				assert.LessOrEqual(t, time.Since(begun), test.most)
				if !test.taken {
					require.ErrorIs(t, err, moving)
					return
				}
				require.NoError(t, err)
				require.NoError(t, h.Unlock(t.Context()))
			})
		})
	}
}
