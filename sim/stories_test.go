package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/trace"
)

// randomStory is a scenario with faults of every kind in any order.
func randomStory(seed uint64) string {
	n := uint64(0)
	draw := func(bound int) int {
		n++
		return int(mix(mix(seed)+n) % uint64(bound))
	}
	pick := func(of ...string) string { return of[draw(len(of))] }
	world := pick("masters=1 replicas=2 lock=mutex", "masters=1 replicas=1 lock=fenced", "masters=3 lock=redlock",
		"masters=1 replicas=2 lock=fair fair-wait=1s wait=2s", "masters=1 replicas=1 lock=rw readers=2 reenter=1",
		"masters=2 lock=multi", "masters=1 replicas=1 lock=permits sync=on cancel=200ms", "masters=1 lock=latch waiters=1",
		"masters=1 replicas=1 lock=semaphore sync=on", "masters=1 lock=spin compat316=2 reenter=2")
	masters := int(world[len("masters=")] - '0')
	node := func() string {
		if r := strings.Index(world, "replicas="); r >= 0 && draw(2) == 0 {
			return fmt.Sprint("r", 1+draw(int(world[r+9]-'0')))
		}
		return fmt.Sprint("m", 1+draw(masters))
	}
	client := func() string { return fmt.Sprint("c", 1+draw(3)) }
	anybody := func() string {
		if draw(2) == 0 {
			return client()
		}
		return node()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "world clients=3 %s ttl=%s renew=%s delay=%s hold=0s..400ms think=0s..100ms\n",
		world, pick("50ms", "500ms", "3s"), pick("on", "off"), pick("1ms", "0s..20ms", "5ms..80ms"))
	for range draw(30) {
		what := ""
		switch draw(11) {
		case 0:
			what = fmt.Sprintf("pause %s for=%dms", anybody(), draw(3000))
		case 1:
			what = "crash " + anybody()
		case 2, 3:
			what = fmt.Sprintf("restart %s data=%s", node(), pick("keep", "lose"))
		case 4:
			what = fmt.Sprintf("partition %s,%s %s way=%s", client(), anybody(), node(), pick("one", "both"))
		case 5:
			what = "heal"
		case 6:
			what = pick(client()+" "+node()+" what=request", node()+" "+client()+" what="+pick("reply", "message"))
			what = fmt.Sprintf("drop %s next=%d after=%d", what, 1+draw(5), draw(5))
		case 7:
			what = fmt.Sprintf("clock %s %s", anybody(), pick("jump=-2s", "jump=+2s", "rate=+50%", "rate=-50%", "rate=+0.1%"))
		case 8:
			what = fmt.Sprintf("duplicate %s %s next=%d late=%dms", client(), node(), 1+draw(5), draw(900))
		case 9:
			what = pick("audit", "run m1 DEL lock:1", "run m1 PERSIST lock:1", "run m1 SCRIPT FLUSH")
		case 10:
			if what = "heal"; strings.Contains(world, "replicas") {
				what = pick("hold", "release", "promote") + " r1"
			}
		}
		fmt.Fprintf(&b, "at %dms %s\n", draw(8000), what)
	}
	return b.String() + "run for=12s\n"
}

// Whatever happens to a world, its run ends without an error, goes the same way
// again with its details told, and the dead say nothing.
func TestRandomStories(t *testing.T) {
	lua := NewLua()
	for seed := range uint64(300) {
		text := randomStory(seed)
		s, err := ParseScenario("random.scenario", text)
		require.NoError(t, err, text)
		dead := map[trace.Actor]bool{}
		first, err := s.Run(context.Background(), Options{Seed: seed, Lua: lua, Observe: func(e *trace.Event,
			names []string) {
			if dead[e.Actor] && e.Kind != trace.Lost {
				require.Fail(t, "a dead client acts", "%s\n%s", e.AppendText(nil, names), text)
			}
			if e.Kind == trace.Crash && names[e.Peer][0] == 'c' {
				dead[e.Peer] = true
			}
		}})
		require.NoError(t, err, text)
		again, err := s.Run(context.Background(), Options{Seed: seed, Lua: lua, Details: true})
		require.NoError(t, err, text)
		require.Equal(t, first.Hash, again.Hash, text)
	}
}
