package lockclient_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// dateIn finds a date of the bubble's clock, which begins with the year 2000.
var dateIn = regexp.MustCompile(`\b9\d{11}\b`)

// commands is a wire that asks its reply for plain commands, too.
type commands struct{ *wire }

func (w commands) Do(_ context.Context, key string, args ...string) (lockclient.Reply, error) {
	w.note("%s", strings.Join(args, " "))
	return w.reply(args[0], []string{key})
}

// A lease that a cluster refused at first begins with the request that took the lock; so do
// the dates that servers keep of it: neither outlives the other.
func TestLeaseOfWhatWasRefusedAtFirst(t *testing.T) {
	const lease, refused = 10 * time.Second, 2 * time.Second
	for name, take := range map[string]func(context.Context, *lockclient.Client) (*lockclient.Held, error){
		"mutex": func(ctx context.Context, c *lockclient.Client) (*lockclient.Held, error) {
			return c.Mutex("a").Lock(ctx, lockclient.Lease(lease))
		},
		"fair": func(ctx context.Context, c *lockclient.Client) (*lockclient.Held, error) {
			return c.Fair("a").Lock(ctx, lockclient.Lease(lease))
		},
		"simple": func(ctx context.Context, c *lockclient.Client) (*lockclient.Held, error) {
			return c.Simple("a").Lock(ctx, lockclient.Lease(lease))
		},
		"permit": func(ctx context.Context, c *lockclient.Client) (*lockclient.Held, error) {
			return c.PermitSemaphore("a").Acquire(ctx, lease)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				begun := time.Now()
				w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
					switch {
					case time.Since(begun) < refused:
						return lockclient.Reply{}, &lockclient.ServerError{Text: "TRYAGAIN"}
					case script == "SET":
						return lockclient.Reply{Kind: lockclient.TextReply, Text: "OK"}, nil
					case script == "fair-acquire":
						return lockclient.Reply{}, nil
					case name == "permit":
						return counted(script, keys)
					}
					return free(script, keys)
				}}
				h, err := take(t.Context(), lockclient.New(commands{w}, lockclient.System()))
				require.NoError(t, err)
				require.GreaterOrEqual(t, time.Since(begun), refused)
				assert.Equal(t, lease-lease/100-2*time.Millisecond, h.Left())
				lines := w.sent(t, 0)
				for _, text := range dateIn.FindAllString(lines[len(lines)-1], -1) {
					date, err := strconv.ParseInt(text, 10, 64)
					require.NoError(t, err)
					assert.GreaterOrEqual(t, date, time.Now().UnixMilli(), lines)
				}
				require.NoError(t, h.Unlock(t.Context()))
			})
		})
	}
}
