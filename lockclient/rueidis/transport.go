package rueidis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"minikv/lockclient"
	"minikv/lockclient/internal/adapter"
)

// Transport is a lockclient.Transport over a rueidis client. It is safe for concurrent
// use.
type Transport struct {
	client   rueidis.Client
	topology lockclient.Topology
	scripts  adapter.Scripts
	spares   *adapter.Spares[*line]
}

// Option configures a Transport. Of options that contradict each other the last one
// counts.
type Option func(*Transport)

// WithReplicas says that the masters have replicas, which rueidis does not know of a
// single server. It is the default for sentinel sets and clusters.
func WithReplicas() Option {
	return func(t *Transport) { t.topology.Replicas = true }
}

// WithoutReplicas turns off the check of acquisitions with WAIT. It is for services that
// refuse that command, where no lock is granted otherwise. A failover may then lose
// locks.
func WithoutReplicas() Option {
	return func(t *Transport) { t.topology.Replicas = false }
}

// New makes a Transport over a client of any mode; use NewClient to make it. The client
// remains the caller's to close. New asks a cluster whether it has sharded pub/sub
// (PUBSUB SHARDNUMSUB, Redisson's probe), and other servers nothing.
func New(ctx context.Context, client rueidis.Client, opts ...Option) (*Transport, error) {
	t := &Transport{client: client, spares: adapter.NewSpares((*line).drop)}
	switch client.Mode() {
	case rueidis.ClientModeCluster:
		t.topology.Cluster, t.topology.Replicas = true, true
		err := client.Do(ctx, client.B().PubsubShardnumsub().Build()).Error()
		if _, refused := rueidis.IsRedisErr(err); err != nil && !refused {
			return nil, fmt.Errorf("rueidis: probe for sharded pub/sub: %w", err)
		}
		t.topology.Sharded = err == nil
	case rueidis.ClientModeSentinel:
		t.topology.Replicas = true
	}
	for _, opt := range opts {
		opt(t)
	}
	return t, nil
}

// Topology implements lockclient.Transport.
func (t *Transport) Topology() lockclient.Topology { return t.topology }

// Eval implements lockclient.Transport. After NOSCRIPT it sends EVAL, which
// runs the text on the node that has the key and leaves it in its cache.
func (t *Transport) Eval(
	ctx context.Context, script *lockclient.Script, keys, args []string,
) (lockclient.Reply, error) {
	return adapter.Aside(ctx, func() (lockclient.Reply, error) {
		return t.eval(ctx, t.client, false, script, keys, args)
	})
}

// Do implements lockclient.Transport. A key must be the first argument after the
// command's name.
func (t *Transport) Do(ctx context.Context, key string, args ...string) (lockclient.Reply, error) {
	var keys []string
	if key != "" {
		keys = args[1:2]
	}
	return adapter.Aside(ctx, func() (lockclient.Reply, error) {
		return send(ctx, t.client, args[:1], keys, args[1+len(keys):])
	})
}

// sender is a client, or one connection of it.
type sender interface {
	B() rueidis.Builder
	Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult
}

// eval runs a script by its SHA1, or by its text if the server does not know it;
// with asking on one connection to a node that is about to get the slot.
func (t *Transport) eval(
	ctx context.Context, s sender, asking bool, script *lockclient.Script, keys, args []string,
) (lockclient.Reply, error) {
	return t.scripts.Run(script, func(how, what string) (lockclient.Reply, error) {
		if asking {
			if _, err := send(ctx, s, []string{"ASKING"}, nil, nil); err != nil {
				return lockclient.Reply{}, err
			}
		}
		return send(ctx, s, []string{how, what, strconv.Itoa(len(keys))}, keys, args)
	})
}

// attempts is how many attempts of others to connect a request waits for, and how often
// it asks for a node that rueidis forgets meanwhile.
const attempts = 10

// send sends one command, once: what Arbitrary builds is a write to rueidis,
// and writes are not sent again. What was not sent because somebody else had
// given up connecting is sent.
func send(ctx context.Context, s sender, head, keys, args []string) (reply lockclient.Reply, err error) {
	for range attempts {
		if reply, err = sendOnce(ctx, s, head, keys, args); !errors.Is(err, errOthers) {
			break
		}
	}
	return reply, err
}

// errOthers is a request that waited for a connection which rueidis made with the
// context of another one, until that context ended.
var errOthers = fmt.Errorf("%w: whoever was connecting has given up", lockclient.ErrNotSent)

func sendOnce(ctx context.Context, s sender, head, keys, args []string) (lockclient.Reply, error) {
	if err := ctx.Err(); err != nil {
		return lockclient.Reply{}, fmt.Errorf("%w: %w", lockclient.ErrNotSent, err)
	}
	cmd, err := build(s, head, keys, args)
	if err != nil {
		return lockclient.Reply{}, err
	}
	message, err := s.Do(ctx, cmd).ToMessage()
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return lockclient.Reply{}, errOthers
	}
	if err != nil && !rueidis.IsRedisNil(err) {
		return lockclient.Reply{}, outcome(err)
	}
	return convert(message)
}

// build makes the command. For a cluster rueidis panics about keys of several
// slots, which here is the error that a server would answer.
func build(s sender, head, keys, args []string) (cmd rueidis.Completed, err error) {
	defer func() {
		cause := recover()
		if cause != nil && !strings.Contains(fmt.Sprint(cause), "different key slots") {
			panic(cause)
		}
		if cause != nil {
			err = &lockclient.ServerError{Text: "CROSSSLOT Keys in request don't hash to the same slot"}
		}
	}()
	return s.B().Arbitrary(head...).Keys(keys...).Args(args...).Build(), nil
}

// outcome maps an error of rueidis to the contract of lockclient.Transport. Its ErrClosing says
// nothing of the outcome: that is also what a request gets which was sent before its connection
// was closed, as rueidis closes those to a master that was replaced.
func outcome(err error) error {
	if refused, ok := rueidis.IsRedisErr(err); ok {
		return &lockclient.ServerError{Text: withCode(refused.Error())}
	}
	if adapter.Connecting(err) || errors.Is(err, rueidis.ErrNoSlot) {
		return fmt.Errorf("%w: %w", lockclient.ErrNotSent, err)
	}
	return err
}

// withCode is an error of Redis with its code word, of which rueidis leaves out ERR.
func withCode(text string) string {
	code, _, _ := strings.Cut(text, " ")
	if len(code) < len("ASK") || code != strings.ToUpper(code) {
		return "ERR " + text
	}
	return text
}

// convert makes a Reply of what rueidis parsed.
func convert(m rueidis.RedisMessage) (lockclient.Reply, error) {
	switch {
	case m.IsNil():
		return lockclient.Reply{}, nil
	case m.IsInt64():
		n, err := m.AsInt64()
		return lockclient.Reply{Kind: lockclient.IntReply, Int: n}, err
	case m.IsArray():
		values, err := m.ToArray()
		list := make([]lockclient.Reply, len(values))
		for i := range values {
			if list[i], err = convert(values[i]); err != nil {
				return lockclient.Reply{}, err
			}
		}
		return lockclient.Reply{Kind: lockclient.ListReply, List: list}, err
	}
	text, err := m.ToString()
	return lockclient.Reply{Kind: lockclient.TextReply, Text: text}, err
}
