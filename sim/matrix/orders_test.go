package matrix

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/explore"
	"minikv/trace"
)

// What holds holds in every order as well, where the twin breaks; and where no
// such search can be, the result says why.
func TestOrders(t *testing.T) {
	results := fill(t, Options{Seeds: 20, Orders: true, Cells: []string{
		"20/redisson/mutex", "12/lockclient/simple", "6/redisson/mutex/within", "14/lockclient/redlock/delayed",
		"20/lockclient/latch/counts", "2/redisson/mutex"}})
	orders := map[string]*Orders{}
	for i := range results {
		r := &results[i]
		orders[(&Cell{r.Row, r.Variant, r.Profile, r.Lock, "", ""}).String()] = r.Claims[0].Orders
		require.False(t, r.Failed())
	}
	require.Nil(t, orders["2/redisson/mutex"], "what must break is not searched like this")
	o := orders["12/lockclient/simple"]
	require.True(t, o.Holds(), o)
	require.Equal(t, "2 clients, 1 master, held for 8s, at most 1 fault, 15s", o.Bound)
	require.Equal(t, "2/lockclient/simple", o.Twin)
	require.Equal(t, "matrix:12/lockclient/simple/exclusion/orders", o.World)
	world, ok, err := Find(o.World)
	require.True(t, ok)
	require.NoError(t, err)
	require.Equal(t, 2, world.World.Clients)
	require.Equal(t, "drift needs times", orders["6/redisson/mutex/within"].Why)
	require.Equal(t, "how long a master is away is the point", orders["14/lockclient/redlock/delayed"].Why)
	require.True(t, orders["20/lockclient/latch/counts"].Holds())
	text := Table(results, 0)
	require.Contains(t, text, "| 12 | 2 clients, 1 master, held for 8s, at most 1 fault, 15s | 1 | ")
	require.Contains(t, text, " claims; 3 hold in all of theirs. ")
}

// A bound in which the row's own trouble breaks nothing says nothing: clients that hold
// for no time have no lease that could end while they hold.
func TestOrdersSeeWhatTheRowIsAbout(t *testing.T) {
	s := &searcher{ctx: t.Context(), rows: Rows(), lua: sim.NewLua()}
	r, c := rowAndCell(t, "12/lockclient/mutex")
	s.rows = []*Row{r}
	o, err := s.orders(s.ctx, c, c.claims()[0])
	require.NoError(t, err)
	require.True(t, o.Holds(), o)
	require.Equal(t, "12/redisson/mutex", o.Twin)
	r.Bounds = append(r.Bounds, Bound{Variant: "any", Clients: 2, Faults: 1})
	o, err = s.orders(s.ctx, c, c.claims()[0])
	require.NoError(t, err)
	require.False(t, o.Holds())
	require.Equal(t, "what breaks 12/redisson/mutex was not seen in such a bound", o.Why)
}

// It makes no difference how many work at it, nor that rows share a world.
func TestOrdersOfSeveralWorkers(t *testing.T) {
	cells := []string{"20/redisson/mutex", "23/lockclient/mutex", "24/lockclient/mutex", "12/redisson/fenced"}
	alone := fill(t, Options{Seeds: 20, Orders: true, Cells: cells, Workers: 1})
	require.Equal(t, alone, fill(t, Options{Seeds: 20, Orders: true, Cells: cells, Workers: 3}))
	for i := range alone {
		r := &alone[i]
		name := (&Cell{r.Row, r.Variant, r.Profile, r.Lock, "", ""}).String()
		for _, c := range r.Claims {
			if c.Orders != nil && c.Orders.World != "" {
				require.True(t, c.Orders.Holds(), name)
				require.Equal(t, "matrix:"+name+"/"+c.Check+"/orders", c.Orders.World)
			}
		}
	}
}

// "None violates" is said of a bound only if all of it was run, and a twin was seen.
func TestOrdersVerdict(t *testing.T) {
	of := func(o Orders) Result {
		o.World, o.Bound = "w", "2 clients"
		return Result{Row: 1, Profile: Lockclient, Lock: "mutex", Claims: []ClaimResult{{Orders: &o}}}
	}
	held := of(Orders{Complete: true, Schedules: 3})
	require.Contains(t, OrdersMarkdown([]Result{held, held}), "| 1 | 2 clients | 2 | 6 | 3 | none violates |")
	random := of(Orders{Random: true, Schedules: 9})
	text := OrdersMarkdown([]Result{random, random})
	require.Contains(t, text, "| 1 | 2 clients | 2 | 18 | 9 | none of these violates, which are not all |")
	require.Contains(t, text, " 18 schedules for 2 claims; 0 hold in all of theirs.")
	for want, other := range map[string]Result{
		"not all were run, or no twin was seen: redisson fair": {Row: 1, Profile: Redisson, Lock: "fair",
			Claims: []ClaimResult{{Orders: &Orders{World: "w", Bound: "2 clients", Random: true, Why: "no twin"}}}},
		"not all were run, or no twin was seen: lockclient mutex": of(Orders{Schedules: 2, Why: "too many"}),
		"violated: lockclient mutex":                              of(Orders{Complete: true, Violation: "both hold"}),
	} {
		text := OrdersMarkdown([]Result{held, other})
		require.Contains(t, text, want)
		require.NotContains(t, text, "none violates")
	}
	require.Empty(t, OrdersMarkdown([]Result{{Claims: []ClaimResult{{}}}}))
}

// Each row says within which bound every order is run, for each claim that could be.
func TestRowsStateBounds(t *testing.T) {
	for _, r := range Rows() {
		for i := range r.Cells {
			b, ok := r.Bound(&r.Cells[i])
			require.True(t, ok, "%s has no bound", &r.Cells[i])
			require.True(t, b.Why != "" || b.Clients == 2 && b.Faults <= 1, "%s: %+v", &r.Cells[i], b)
		}
	}
}

// A world may have fewer masters, and is found by its name.
func TestOrdersOfFewerMasters(t *testing.T) {
	world, ok, err := Find("matrix:1/lockclient/redlock/exclusion/orders3")
	require.True(t, ok)
	require.NoError(t, err)
	require.Equal(t, 3, world.World.Masters)
	_, _, err = Find("matrix:1/lockclient/mutex/exclusion/orders3")
	require.ErrorContains(t, err, "it has no more masters anyway")
}

// Where one master alone can be struck, each has a world in which only it has replicas.
func TestOrdersOfEachMaster(t *testing.T) {
	r, c := rowAndCell(t, "7/lockclient/multi")
	b, ok := r.Bound(c)
	require.True(t, ok)
	worlds, err := r.worlds(c, c.claims()[0], b)
	require.NoError(t, err)
	require.Len(t, worlds, 3)
	for i, w := range worlds {
		require.Equal(t, i+1, w.World.Replicated)
		found, ok, err := Find(w.Name)
		require.True(t, ok)
		require.NoError(t, err)
		require.Equal(t, w.Text(), found.Text())
	}
	r, c = rowAndCell(t, "7/lockclient/mutex")
	worlds, err = r.worlds(c, c.claims()[0], b)
	require.NoError(t, err)
	require.Len(t, worlds, 1)
	require.Zero(t, worlds[0].World.Replicated)
	_, _, err = Find("matrix:7/lockclient/multi/exclusion/orders-m4")
	require.ErrorContains(t, err, "replicated=4: expected replicas, and one of 3 masters, outside of a cluster")
	_, _, err = Find("matrix:7/lockclient/multi/exclusion/orders-x")
	require.ErrorContains(t, err, "expected orders, orders2 or orders-m1")
}

// What the worlds of a claim have shown is one result.
func TestOrdersOfSeveralWorlds(t *testing.T) {
	s := &searcher{ctx: t.Context(), lua: sim.NewLua()}
	var all []*sim.Scenario
	sum, bound := Orders{}, Bound{Clients: 2, Faults: 1}
	for _, name := range []string{"20/lockclient/mutex", "24/lockclient/fenced", "7/lockclient/mutex"} {
		r, c := rowAndCell(t, name)
		worlds, err := r.worlds(c, c.claims()[0], bound)
		require.NoError(t, err)
		one, err := s.exhaustAll(s.ctx, worlds, bound)
		require.NoError(t, err)
		require.Equal(t, worlds[0].Name, one.World)
		all, sum.Schedules = append(all, worlds[0]), sum.Schedules+one.Schedules
		both, err := s.exhaustAll(s.ctx, all, bound)
		require.NoError(t, err)
		require.Equal(t, sum.Schedules, both.Schedules)
		require.Equal(t, one.Complete, both.Complete)
		if sum.World += ", " + one.World; one.Violation != "" {
			sum.World = ", " + one.World // it is what can be run again
		}
		require.Equal(t, sum.World[len(", "):], both.World)
		require.Equal(t, one.Violation, both.Violation)
	}
}

func rowAndCell(t *testing.T, name string) (*Row, *Cell) {
	t.Helper()
	for _, r := range Rows() {
		for i := range r.Cells {
			if r.Cells[i].String() == name {
				return r, &r.Cells[i]
			}
		}
	}
	require.Fail(t, name)
	return nil, nil
}

// A violation that is another one when it is run again is told, and fails.
func TestReplayThatDiffers(t *testing.T) {
	s := &searcher{ctx: context.Background(), rows: Rows(), lua: sim.NewLua()}
	world, _, err := Find("matrix:2/redisson/mutex")
	require.NoError(t, err)
	res, err := explore.Search(s.ctx, explore.Problem{Scenario: world}, explore.Options{Root: 1, Seeds: 50})
	require.NoError(t, err)
	found := &ClaimResult{Check: "exclusion"}
	require.NoError(t, s.hit(found, world, res.Hits[0], ""))
	require.Empty(t, found.Differs)
	hit := res.Hits[0]
	hit.Hash ^= trace.Hash(1)
	require.NoError(t, s.hit(found, world, hit, ""))
	require.Contains(t, found.Differs, "hash ")
	require.True(t, (&Result{Claims: []ClaimResult{*found}}).Failed())
}

// What fails a run: a broken promise that no list explains.
func TestFailed(t *testing.T) {
	broken := ClaimResult{Expected: check.Holds, Verdict: check.Violated}
	unseen := ClaimResult{Expected: check.Violated, Verdict: check.Holds}
	require.True(t, (&Result{Claims: []ClaimResult{broken}}).Failed())
	listed := broken
	listed.Listed = true
	require.False(t, (&Result{Claims: []ClaimResult{listed}, Listed: "why"}).Failed())
	require.True(t, (&Result{Claims: []ClaimResult{listed, broken}, Listed: "why"}).Failed())
	require.False(t, (&Result{Claims: []ClaimResult{unseen, {Verdict: check.Unknown}}}).Failed())
}

// Where there are too many orders, some are run at random; of a violation that they
// find the result says how it is found again.
func TestOrdersAtRandom(t *testing.T) {
	r, err := ParseRow("99.row", "# A failover.\nrow 99\nworld replicas=1 sync=off\nfaults failover=1ms..5s\n"+
		"orders all: clients=2 faults=1 random=400\nlockclient mutex: U: why\n")
	require.NoError(t, err)
	c := &r.Cells[0]
	b, ok := r.Bound(c)
	require.True(t, ok)
	require.Equal(t, 400, b.Random)
	world, err := r.Orders(c, c.claims()[0], b)
	require.NoError(t, err)
	o, err := exhaust(context.Background(), world, b)
	require.NoError(t, err)
	require.True(t, o.Random)
	require.False(t, o.Holds() || o.NotFound())
	require.NotEmpty(t, o.Violation)
	require.Equal(t, "2 clients, 1 master with 1 replica that lags up to 1ms, at most 1 fault, 1m15s, at random", o.Bound)
	require.Equal(t, fmt.Sprintf("locksim hunt %s --strategy pct --root 1 --seeds %d --bound 1", world.Name, o.Schedules),
		o.replay())

	b.Faults = 0
	search := &searcher{}
	for _, b.Random = range []int{400, 30} { // the bound says how many, not who asked first
		o, err = search.exhaust(context.Background(), world, b)
		require.NoError(t, err)
		require.True(t, o.NotFound())
		require.Equal(t, b.Random, o.Schedules)
	}
}
