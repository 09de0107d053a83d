package main

// serverMutations break scripts and the server itself. Each names the check
// that catches it, first.
var serverMutations = []mutation{
	{"late_unlock_frees_nobody", "theft: a release looks for its owner", []edit{{
		"scripts/mutex_release.lua", "if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then", "if false then"}}},
	{"replica_does_not_expire_by_itself", "exclusion: a replica waits for its master's DEL", []edit{{
		"../server/engine/pause.go", "some || n.repl.isReplica() {", "some {"}}},
	{"deleted_lock_is_told", "kept: a renewal revives nothing", []edit{{
		"scripts/mutex_renew.lua", "redis.call('hexists', KEYS[i], ARGV[i + 1])\n",
		"redis.call('hincrby', KEYS[i], ARGV[i + 1], 0) * 0 + 1\n"}}},
	{"fair_lock_keeps_order", "order: only the head of the queue takes a free lock", []edit{{
		"scripts/fair_acquire.lua", "and (head == false or head == ARGV[2]) then", "then"}}},
	{"sleeper_with_token_33_is_refused", "fencing: each grant draws a larger token", []edit{{
		"scripts/fenced_acquire.lua", "redis.call('incr', KEYS[2])", "tonumber(redis.call('get', KEYS[2]))"}}},
	{"semaphore_keeps_its_capacity", "capacity: as much comes back as was taken", []edit{{
		"scripts/semaphore_return.lua", "redis.call('incrby', KEYS[1], ARGV[1])",
		"redis.call('incrby', KEYS[1], ARGV[1] + 1)"}}},
	{"doubled_release_counts_once", "capacity: a release counts once", []edit{{
		"scripts/semaphore_return.lua", "redis.call('pexpire', KEYS[3], ARGV[2]) == 1", "false"}}},
	{"lost_semaphore_reply_costs_no_permit", "leak: what was taken in doubt comes back", []edit{{
		"scripts/semaphore_withdraw.lua", "redis.call('get', KEYS[3]) or 0", "0"}}},
	{"latch_opens_for_all_who_wait", "gate: a latch opens at 0", []edit{{
		"scripts/latch_count_down.lua", "if left <= 0 then", "if left <= 1 then"}, {
		"scripts/latch_count_down.lua", "if left == 0 then", "if left >= 0 then"}}},
	{"crashed_holder_frees_after_ttl", "progress: PEXPIRE sets a TTL", []edit{{
		"../server/engine/cmd_expire.go", "if !c.DB.SetDeadline(key, max(0, deadline)) {", "if !c.DB.Exists(key) {"}}},
	{"crashed_holder_frees_after_ttl", "exclusion: no key expires before its time", []edit{{
		"../datastore/expire.go", "k.instant() > e.deadline", "k.instant()+30000 > e.deadline"}}},
	{"many_contended_locks", "progress: a message wakes who waits", []edit{{
		"../server/engine/pubsub.go", "\tfor _, s := range sessions {\n\t\ts.push(message)",
		"\tfor _, s := range sessions[:0] {\n\t\ts.push(message)"}}},
	{"unconfirmed_grant_is_refused", "exclusion: WAIT counts acknowledgements", []edit{{
		"../server/engine/cmd_server.go", "\tacked := n.repl.acked(c.Session.writtenTo)\n", "\tacked := wanted\n"}}},
	{"redlock_survives_two_lost_masters", "exclusion: SET NX refuses", []edit{{
		"../server/engine/cmd_string.go", "if c.DB.Touch(key) == opt.nx {", "if c.DB.Touch(key) == opt.nx && opt.xx {"}}},
}
