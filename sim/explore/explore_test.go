package explore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
)

// questions are problems whose answer is known: the fault that each hit must
// need, and how few faults and operations the shortest story has.
var questions = []struct {
	name, text, need string
	faults, asked    int
}{
	{"pause", "world clients=3 lock=mutex ttl=30s hold=5s think=1s\nexpect exclusion=violated\n" +
		"faults pause\nrun for=120s\n", "pause", 1, 2},
	{"jump", "world masters=5 clients=2 lock=redlock ttl=10s renew=off hold=3s think=3s..5s rounds=2\n" +
		"expect exclusion=violated\nfaults jump partition\nrun for=30s\n", "jump", 3, 2},
	{"failover", "world replicas=1 clients=3 lock=mutex ttl=30s hold=5s think=0s..1s\nexpect exclusion=violated\n" +
		"faults failover lag\nrun for=60s\n", "failover", 2, 2},
	{"amnesia", "world clients=3 lock=mutex ttl=30s hold=5s think=0s..1s\nexpect exclusion=violated\n" +
		"faults amnesia\nrun for=60s\n", "amnesia", 1, 2},
	{"redlock amnesia", "world masters=5 clients=2 lock=redlock ttl=10s renew=off hold=3s think=3s..5s rounds=2\n" +
		"expect exclusion=violated\nfaults amnesia partition\nrun for=30s\n", "amnesia", 3, 2},
	{"fencing by failover", "world replicas=1 clients=3 lock=fenced ttl=30s hold=5s think=0s..1s\n" +
		"expect fencing=violated\nfaults failover pause lag\nrun for=60s\n", "failover", 2, 2},
	{"semaphore", "world clients=3 lock=semaphore hold=8s think=0s..1s\nexpect capacity=violated\n" +
		"faults duplicate\nrun for=60s\n", "duplicate", 1, 4}, // the second copy comes after the record's 9 s
}

func problem(t testing.TB, text string) Problem {
	t.Helper()
	s, err := sim.ParseScenario("question.scenario", "# A question.\n"+text)
	require.NoError(t, err)
	return Problem{Scenario: s}
}

func TestQuestions(t *testing.T) {
	ctx := context.Background()
	for _, q := range questions {
		t.Run(q.name, func(t *testing.T) {
			p := problem(t, q.text)
			start := time.Now()
			res, err := Search(ctx, p, Options{Root: 1, Seeds: 20_000, Hits: 3, Need: q.need})
			require.NoError(t, err)
			require.NotEmpty(t, res.Hits)
			found := time.Since(start)
			require.Contains(t, res.Hits[0].Needs, q.need)
			short, err := Shrink(ctx, res.Hits)
			require.NoError(t, err)
			t.Logf("%d seeds, %d others, %v; %d runs, %v; faults %d, asked %d\n%s%v", res.Tried, res.Other, found, short.Runs,
				time.Since(start)-found, short.Faults, short.Asked, short.Story.Text(), short.Result.Reason)
			require.LessOrEqual(t, short.Faults, q.faults)
			require.LessOrEqual(t, short.Asked, q.asked)
			again, err := sim.ParseScenario("short.scenario", short.Story.Text())
			require.NoError(t, err)
			r, err := again.Run(ctx, sim.Options{Seed: again.Seed})
			require.NoError(t, err)
			require.True(t, r.AsExpected())
			require.Equal(t, short.Hash, r.Hash)
		})
	}
}

// The same search gives the same hits for any number of workers.
func TestWorkersChangeNothing(t *testing.T) {
	p := problem(t, questions[0].text)
	var first Result
	for workers := 1; workers <= 4; workers++ {
		res, err := Search(context.Background(), p, Options{Root: 7, Seeds: 60, Hits: 4, Workers: workers})
		require.NoError(t, err)
		require.Len(t, res.Hits, 4)
		if workers == 1 {
			first = res
		}
		require.Equal(t, first, res)
	}
}

// A search that is interrupted says so, and has what it found until then.
func TestInterruptedSearch(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	p := problem(t, questions[0].text)
	res, err := Search(ctx, p, Options{Root: 7, Seeds: 1_000_000, Hits: 1_000_000, Progress: func(res Result) {
		if res.Tried == 100 {
			stop()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.GreaterOrEqual(t, res.Tried, 100)
	require.Less(t, res.Tried, 200)
	require.NotEmpty(t, res.Hits)
}

// A violation is not reported of a run that did not finish, and a search for
// what nobody checks is refused.
func TestNoVerdict(t *testing.T) {
	p := problem(t, questions[0].text)
	p.Checks = []string{"gate"}
	_, err := Search(context.Background(), p, Options{Seeds: 1})
	require.EqualError(t, err, "explore: gate is not checked in question: its checks are [exclusion]")
	p = problem(t, "world\nfaults pause\nrun for=1s\n")
	_, err = Search(context.Background(), p, Options{Seeds: 1})
	require.EqualError(t, err, "explore: question has no expect line: nothing is checked")
}
