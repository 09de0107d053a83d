package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/matrix"
)

// everyMutation is the environment variable that has all mutations tested, not
// only the first ones: each builds the program anew.
const everyMutation = "LOCKSIM_MUTATIONS"

// mutation takes a guard out of lockclient or of the server, with which the
// scenario must no longer have the verdicts that it expects.
type mutation struct {
	scenario string // its name, and a seed if it needs one: matrix:6/… --seed 7
	guard    string // what is taken out
	edits    []edit
}

// edit replaces the only occurrence of a text in a file, whose name is that in lockclient.
type edit struct{ file, old, new string }

// mutations, the first of which every test run tries.
var mutations = []mutation{
	{"repeated_unlock_counts_once", "repetitions of an unlock have one name, and a loss is noticed", []edit{
		{"unlocking.go", "\t\terr = u.try(c.base)\n", "\t\tu.latch = c.record(u.lock.key)\n\t\terr = u.try(c.base)\n"},
		{"unlocking.go", "case !held || freed == 1 && u.left > 0:", "case !held:"}}},
	{"unconfirmed_grant_is_refused", "a grant without confirmation is refused", []edit{{
		"client.go", "confirmed < max(c.replicas, min(known, 1))", "confirmed < min(known, 0)"}}},
	{"required_replica_stops_who_is_forgotten", "also a master that knows of no replica confirms nothing", []edit{{
		"client.go", "max(c.replicas, min(known, 1))", "min(known, 1)"}}},
	{"lock_without_ttl_is_no_grant", "the token tells a grant, not the TTL", []edit{{
		"mutex.go", "token > 0 {", "reply.List[0].Int == -1 {"}}},

	{"unconfirmed_grants_leave_nothing", "what no replica confirmed is given back", []edit{{
		"client.go", "isDoubtful(err) || errors.Is(err, ErrReplication)", "isDoubtful(err)"}}},
	{"unconfirmed_renewal_is_not_counted_on", "a renewal that no replica has is not counted on", []edit{{
		"watchdog.go", "c.evalSyncedOnce(ctx, batch", "c.eval(ctx, c.timeout, batch"}}},
	{"unconfirmed_unlock_prolongs_nothing", "what an unlock leaves to outer holds is not counted on unconfirmed", []edit{{
		"unlocking.go", "if _, lossy := c.replicated(); err", "if lossy := false; err"}}},
	{"unknown_acquisition_is_given_back", "what may have been taken is given back", []edit{{
		"hashlock.go", "alone && (queued || mayHaveRun(err))", "alone && (queued || err == ErrReplication)"}}},
	{"cancelled_lock_is_not_kept", "what may have been taken is given back", []edit{{
		"hashlock.go", "alone && (queued || mayHaveRun(err))", "alone && (queued || err == ErrReplication)"}}},
	{"late_acquisition_is_recalled", "what gives back is repeated for as long again", []edit{{
		"client.go", "late = now + (now - asked)", "late = min(now, asked) + 2*c.timeout"}}},
	{"late_request_leaves_no_dead_head_in_the_queue", "what gives back is repeated for as long again", []edit{{
		"client.go", "late = now + (now - asked)", "late = min(now, asked) + 2*c.timeout"}}},
	{"unknown_reentry_is_settled", "the last unlock looks for acquisitions of unknown outcome, and looks again", []edit{
		{"unlocking.go", "u.left == 0 && freed == 0 && u.doubts.surplus > 0", "false"},
		{"unlocking.go", "u.alone() && lv.doubts.mayTake", "false"}}},
	{"doubled_acquisition_costs_one_ttl", "the watchdog leaves what was unlocked", []edit{{
		"holds.go", "\t\tc.keeper.remove(h)\n\t\tc.keeper.rest()\n", ""}, {
		"holds.go", "\tc.unserve(held)\n", ""}}},
	{"renewal_survives_an_outage", "a failed renewal is tried again", []edit{{
		"watchdog.go", "\t\tcase err != nil:\n", "\t\tcase err != nil:\n\t\t\tc.lose(h)\n"}}},
	{"deleted_lock_is_told", "a refused renewal is a loss", []edit{{
		"watchdog.go", "\t\tcase known != nil && !known[i]:\n\t\t\tc.lose(h)\n",
		"\t\tcase known != nil && !known[i]:\n\t\t\tc.prolong(h, sent, c.watchdog, true)\n"}}},
	{"unreachable_server_ends_belief_in_time", "belief ends with the lease by the local clock", []edit{{
		"holds.go", "return sent + lease - lease/100 - 2*time.Millisecond", "return sent + 2*lease"}}},
	{"fair_waiter_outlives_its_place", "waiters of a fair lock ask again by themselves", []edit{{
		"fair.go", "ans.hint = min(ans.hint, c.watchdog, c.fairWait/2)", "ans.hint = time.Hour"}, {
		"lock.go", "return min(hint, a.lock.client.watchdog)", "return hint"}}},
	{"dead_fair_waiters_cost_their_places", "waiters of a fair lock ask again by themselves", []edit{{
		"fair.go", "ans.hint = min(ans.hint, c.watchdog, c.fairWait/2)", "ans.hint = time.Hour"}, {
		"lock.go", "return min(hint, a.lock.client.watchdog)", "return hint"}}},
	{"fair_waiter_that_gives_up_leaves_the_queue", "who gives up leaves the queue", []edit{{
		"fair.go", "return q, r.wait != 0", "return q, false"}}},
	{"fair_queue_survives_without_deadlines", "a place without deadline is nobody's", []edit{
		{"scripts/fair_acquire.lua", "if deadline ~= false and tonumber(deadline) >",
			"if deadline == false or tonumber(deadline) >"},
		{"scripts/fair_release.lua", "if deadline ~= false and tonumber(deadline) >",
			"if deadline == false or tonumber(deadline) >"}}},
	{"fair_queue_that_never_empties_keeps_its_order", "who asks again moves its deadline on", []edit{{
		"scripts/fair_acquire.lua", "if deadline > tonumber(mine) then", "if false then"}}},
	{"fair_unlock_tells_of_a_loss", "the release script tells of a vanished lock", []edit{{
		"scripts/fair_release.lua", "  wake()\n  return nil", "  wake()\n  return 1"}}},
	{"multi_in_opposite_orders", "one order for all, and no member is held while another is waited for", []edit{
		{"multi.go", "slices.SortStableFunc(sorted,", "slices.SortStableFunc(slices.Clone(sorted),"},
		{"multi.go", "wait = max(0, until-rt.Mono())", "wait = max(-1, -until)"}}},
	{"unlock_before_the_subscription_is_not_missed", "the attempt after subscribing", []edit{{
		"turn.go", "\tdefer place.leave()\n", "\tdefer place.leave()\n\t_, _ = place.park(ctx, t.pause())\n"}}},
	{"redlock_waiters_are_woken_by_messages", "messages of a majority wake", []edit{{
		"redlock_wait.go", "if free, _ := w.count(); free >= w.last.round.need {", "if false {"}}},
	{"semaphore_without_message_polls", "waiters of a semaphore look again", []edit{{
		"semaphore.go", "return n > 0, w.semaphore.client.poll, err", "return n > 0, time.Hour, err"}}},
	{"expired_permit_comes_back", "permits whose lease has ended come back", []edit{{
		"scripts/permit_acquire.lua", "if #ended > 0 then", "if false then"}}},
	{"late_renewal_cuts_no_permit", "a renewal never brings a deadline forward", []edit{{
		"scripts/permit_renew.lua", "if tonumber(deadline) < tonumber(ARGV[2]) then", "if true then"}}},
	{"latch_opens_for_all_who_wait", "waiters of a latch look again", []edit{{
		"latch.go", "return count <= 0, c.poll, nil", "return count <= 0, time.Hour, nil"}}},
	{"failed_subscription_is_repeated", "a subscription that failed is forgotten", []edit{
		{"waiter.go", "\tch.opening = false\n", ""},
		{"waiter.go", "c.hub.remove(ch)", "_ = ch.name"}}},
	{"crashed_reader_does_not_hold_up_writers", "a reader's watchdog renews its own timers only", []edit{{
		"scripts/read_renew.lua", "  renewed[i] = holds ~= false and 1 or 0\n", "  renewed[i] = holds ~= false and 1 or 0\n" +
			"  for _, reader in ipairs(redis.call('hkeys', lock)) do\n" +
			"    redis.call('pexpire', KEYS[2 * i] .. ':' .. reader .. ':rwlock_timeout:1', ARGV[1])\n  end\n"}}},
	{"short_reader_does_not_cut_a_long_lease", "a lease is never cut by another reader's", []edit{{
		"scripts/read_acquire.lua", "if redis.call('pttl', KEYS[1]) < tonumber(ARGV[1]) then", "if true then"}}},
	{"reading_inside_writing_keeps_the_lock", "the sides of a lock are renewed apart", []edit{{
		"holds.go", "\tc.unserve(held)\n\tnamed :=",
		"\tfor _, o := range c.keeper.holds {\n\t\tif o.key == h.key && o.renewed > 0 {\n" +
			"\t\t\to.renewed = 0\n\t\t\tc.keeper.renewed--\n\t\t}\n\t}\n\tnamed :="}}},
	{"writer_that_reads_on_lets_readers_in", "a writer that reads on tells readers", []edit{{
		"scripts/write_release.lua", "longest)\n  end\nend\n", "longest)\n  end\n  return 1\nend\n"}}},
	{"stale_unlock_latch_is_harmless", "each unlock has a name of its own", []edit{{
		"counting.go", "latchKey(key, c.randomHex(16))", `latchKey(key, []byte("0"))`}}},
	{"failover_brings_a_stale_record_back", "each unlock has a name of its own", []edit{{
		"counting.go", "latchKey(key, c.randomHex(16))", `latchKey(key, []byte("0"))`}}},
	{"unlock_record_outlives_a_failover", "repetitions of an unlock have one name, and a loss is noticed", []edit{
		{"unlocking.go", "\t\terr = u.try(c.base)\n", "\t\tu.latch = c.record(u.lock.key)\n\t\terr = u.try(c.base)\n"},
		{"unlocking.go", "case !held || freed == 1 && u.left > 0:", "case !held:"}}},
	{"unlock_waits_for_its_slot_not_its_lease", "an unlock is repeated as long as its lease lasts", []edit{{
		"unlocking.go", "u.until = max(lv.doubts.ends, sent+c.latchTTL())", "u.until = sent + c.latchTTL()"}}},
	{"matrix:6/lockclient/redlock/within-drift/exclusion --seed 1000000012", "validity leaves out the drift", []edit{{
		"holds.go", "return sent + lease - lease/100 - 2*time.Millisecond", "return sent + lease"}}},
	{"matrix:20/lockclient/fair/liveness --seed 1000000011", "waiters of a fair lock ask again by themselves", []edit{{
		"fair.go", "ans.hint = min(ans.hint, c.watchdog, c.fairWait/2)", "ans.hint = 100 * time.Hour"}}},
}

// Without a mutation the matrix's cells of the table are as they expect: with the
// seeds that are given here nobody else's test says so.
func TestSeedsOfMutationsHold(t *testing.T) {
	for _, m := range mutations {
		name, seed, ok := strings.Cut(m.scenario, " --seed ")
		if !ok {
			continue
		}
		s, _, err := matrix.Find(name)
		require.NoError(t, err)
		n, err := strconv.ParseUint(seed, 10, 64)
		require.NoError(t, err)
		r, err := s.Run(t.Context(), sim.Options{Seed: n})
		require.NoError(t, err)
		require.True(t, r.AsExpected(), m.scenario)
	}
}

// Each scenario of the table turns red when its guard is taken out of lockclient.
func TestScenariosNeedTheirGuards(t *testing.T) {
	list := append(mutations, serverMutations...)
	if os.Getenv(everyMutation) == "" {
		list = append(mutations[:3:3], serverMutations[:1]...)
	}
	for _, m := range list {
		t.Run(m.scenario+": "+m.guard, func(t *testing.T) {
			t.Parallel()
			program := m.build(t)
			args := append([]string{"run", "--trace", "none"}, strings.Fields(m.scenario)...)
			out, err := exec.Command(program, args...).CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "green without the guard: %s\n%s", m.guard, out)
			require.Equal(t, exitDiffers, exit.ExitCode(), "without the guard: %s\n%s", m.guard, out)
		})
	}
}

// Every guard of the table is where the table says, also of those mutations that
// are not built each time.
func TestGuardsAreThere(t *testing.T) {
	for _, m := range append(mutations, serverMutations...) {
		for _, e := range m.edits {
			text, err := os.ReadFile(filepath.Join("../../lockclient", e.file))
			require.NoError(t, err)
			require.Positive(t, strings.Count(string(text), e.old), "%s: %s: %s", m.scenario, e.file, e.old)
		}
	}
}

// build builds the program with the mutated files in the place of the real ones.
func (m *mutation) build(t *testing.T) (program string) {
	dir := t.TempDir()
	replace := map[string]string{}
	for _, e := range m.edits {
		source, err := filepath.Abs(filepath.Join("../../lockclient", e.file))
		require.NoError(t, err)
		mutated := replace[source]
		if mutated == "" {
			mutated = filepath.Join(dir, filepath.Base(e.file))
			copyFile(t, source, mutated)
			replace[source] = mutated
		}
		text, err := os.ReadFile(mutated)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), e.old), "%s has this once, and the guard in it: %s", e.file, e.old)
		text = []byte(strings.Replace(string(text), e.old, e.new, 1))
		require.NoError(t, os.WriteFile(mutated, text, 0o600))
	}
	overlay := filepath.Join(dir, "overlay.json")
	content, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, content, 0o600))
	program = filepath.Join(dir, "locksim")
	build := exec.Command("go", "build", "-pgo=off", "-ldflags=-s -w", "-overlay", overlay, "-o", program, ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

func copyFile(t *testing.T, from, to string) {
	text, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, text, 0o600))
}
