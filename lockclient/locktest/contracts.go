package locktest

import (
	"context"
	"slices"
	"sync"
	"time"

	"minikv/lockclient"
)

// The times of contracts. Real machines stall. So a lease that must not end by
// accident is long, one that is waited for is brief (see run) when something must
// be done before, and where things must come in order a contract asks the server.
const (
	long   = 30 * time.Second
	short  = 600 * time.Millisecond
	slack  = 10 * time.Second       // for what takes as long as it takes; well under long
	prompt = 200 * time.Millisecond // from a message to the return of whom it wakes
	looks  = 300 * time.Millisecond // longer than the pauses of those who ask again by themselves
	// longer than the pause before what failed is repeated in the background
	repeats = 1200 * time.Millisecond
)

// Contracts returns every contract.
func Contracts() []Contract {
	every := func(k Kind) bool { return k.Lock != nil }
	reentrant := func(k Kind) bool { return k.Reentrant }
	once := func(k Kind) bool { return every(k) && !k.Reentrant && !k.Expiring }
	queued := func(k Kind) bool { return k.Queued }
	renewed := func(k Kind) bool { return k.Renewed }
	forced := func(k Kind) bool { return k.Renewed && !k.Composed && !k.Expiring }
	woken := func(k Kind) bool { return k.Woken }
	fenced := func(k Kind) bool { return k.Fenced }
	exclusive := func(k Kind) bool { return every(k) && !k.Shared }
	shared := func(k Kind) bool { return k.Shared }
	composed := func(k Kind) bool { return k.Composed }
	return slices.Concat(counting(), []Contract{
		{"one_holder_at_a_time", exclusive, exclusion},
		{"many_tasks_never_overlap", exclusive, contention},
		{"an_owner_takes_it_again", reentrant, reentrancy},
		{"a_named_owner_takes_it_again", reentrant, namedOwner},
		{"a_lease_ends", every, expiry},
		{"extend_replaces_the_lease", every, extension},
		{"the_watchdog_renews", renewed, renewal},
		{"an_unlock_wakes_a_waiter", woken, wakeByMessage},
		{"an_unlock_wakes_one_waiter_after_another", woken, wakeInTurn},
		{"a_lost_message_costs_at_most_the_ttl", every, wakeByTTL},
		{"a_wait_ends_with_its_limit_or_its_context", every, limitedWait},
		{"a_forced_unlock_is_told", forced, forcedLoss},
		{"an_unreachable_server_is_a_loss", renewed, silentLoss},
		{"a_renewal_that_failed_is_tried_again", renewed, renewalRetried},
		{"only_the_holder_unlocks", every, foreignUnlock},
		{"an_unknown_acquisition_is_given_back", renewed, unknownAcquire},
		{"an_unknown_reentry_is_not_counted", reentrant, unknownReentry},
		{"an_unknown_unlock_is_repeated", renewed, unknownUnlock},
		{"an_unknown_inner_unlock_counts_once", reentrant, unknownInnerUnlock},
		{"a_failed_unlock_is_repeated", every, failedUnlock},
		{"a_late_unlock_ends_no_later_hold_of_its_name", reentrant, unlockAfterLease},
		{"a_name_taken_again_after_a_failed_unlock_is_held_once", reentrant, unlockTakenOver},
		{"a_holder_does_not_wait_for_itself", once, noReentry},
		{"waiters_come_in_turn", queued, order},
		{"a_waiter_that_leaves_holds_up_nobody", queued, leaving},
		{"a_waiter_that_died_holds_up_others_for_a_time", queued, deadWaiter},
		{"waiters_keep_their_places_as_long_as_they_ask", queued, keptPlaces},
		{"a_waiter_that_lost_its_place_still_comes", queued, lostPlace},
		{"tokens_grow", fenced, tokens},
		{"readers_share_and_writers_exclude", shared, sharing},
		{"a_writer_that_reads_on_lets_others_read", shared, downgrade},
		{"a_reader_cannot_become_a_writer", shared, upgrade},
		{"a_name_is_one_owner_on_both_sides", shared, namedSides},
		{"the_end_of_a_read_leaves_the_write_renewed", shared, readInsideWrite},
		{"a_read_outlives_the_write_around_it", shared, longReadInsideWrite},
		{"readers_do_not_keep_a_crashed_one", shared, crashedReader},
		{"no_reader_cuts_the_lease_of_another", shared, longestReader},
		{"all_members_or_none_are_held", composed, allOrNone},
		{"the_loss_of_a_member_is_the_loss_of_all", composed, lossOfOne},
		{"members_taken_across_each_other_all_come", composed, crossed},
	})
}

// counting returns the contracts of semaphores and latches.
func counting() []Contract {
	expiring := func(k Kind) bool { return k.Expiring }
	counting := func(k Kind) bool { return k.Counting }
	opening := func(k Kind) bool { return k.Opening }
	return []Contract{
		{"permits_are_conserved", counting, conservation},
		{"permits_are_set_added_and_drained", counting, permitNumbers},
		{"permits_wake_whom_they_suffice", counting, wakeByPermits},
		{"a_lost_message_costs_waiters_for_permits_a_look", counting, pollForPermits},
		{"a_wait_for_permits_ends_with_its_limit_or_its_context", counting, limitedAcquire},
		{"unknown_outcomes_of_permits_are_settled", counting, unknownPermits},
		{"a_release_that_was_not_sent_is_repeated", counting, unsentRelease},
		{"a_late_release_makes_no_semaphore", counting, vanishedSemaphore},
		{"permits_that_ended_come_back", expiring, expiringPermits},
		{"a_latch_opens_for_all_at_zero", opening, openingForAll},
		{"a_lost_message_costs_waiters_at_a_latch_a_look", opening, pollForOpening},
		{"a_missing_latch_is_open_unless_strict", opening, missingLatch},
		{"a_deleted_latch_does_not_open", opening, deletedLatch},
		{"an_unknown_count_down_counts_once", opening, unknownCountDown},
	}
}

func exclusion(r *run) {
	a, b := r.process(), r.process()
	h := r.take(a)
	r.refused(b, "held by another process")
	_, err := a.lock.TryLock(r.ctx)
	r.is("take the lock held by another owner of the same process", err, lockclient.ErrNotAcquired)
	r.ok("unlock", h.Unlock(r.ctx))
	r.that(h.Context().Err() != nil, "the context of a Held must end with it")
	r.ok("unlock", r.take(b).Unlock(r.ctx))
}

func contention(r *run) {
	const tasks, rounds = 6, 5
	processes := []*process{r.process(), r.process()}
	var mu sync.Mutex
	var inside, overlaps int
	work := func(context.Context, *lockclient.Held) error {
		mu.Lock()
		inside++
		if inside > 1 {
			overlaps++
		}
		mu.Unlock()
		r.sleep(time.Millisecond)
		mu.Lock()
		inside--
		mu.Unlock()
		return nil
	}
	var running []*task
	for i := range tasks {
		running = append(running, r.start(func(*task) error {
			for range rounds {
				if err := processes[i%2].lock.Do(r.ctx, work, lockclient.NodeTimeout(slack)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	for _, t := range running {
		r.ok("lock, work, unlock", r.end(t))
	}
	r.that(overlaps == 0, "%d holders overlapped", overlaps)
}

func expiry(r *run) {
	a, b := r.process(), r.process()
	begun := r.rt.Mono()
	h := r.take(a, lockclient.Lease(r.brief))
	r.that(h.Until() < r.rt.Mono()+r.brief, "the validity must be shorter than the lease")
	r.refused(b, "before its lease has ended")
	next := r.await(r.waiter(b))
	waited := r.rt.Mono() - begun
	r.that(waited >= r.brief-r.brief/10, "the lease of %v ended after %v", r.brief, waited)
	r.within(r.brief+looks, begun, "a lease and the wait for its end")
	r.that(h.Until() < r.rt.Mono(), "the validity must end before others can hold")
	r.lost(h)
	r.is("unlock after the lease", h.Unlock(r.ctx), lockclient.ErrLost)
	r.refused(a, "held by another after a late unlock")
	r.ok("unlock", next.Unlock(r.ctx))
}

func extension(r *run) {
	a, b := r.process(), r.process()
	h := r.take(a, lockclient.Lease(r.brief))
	before := h.Until()
	r.ok("extend", h.Extend(r.ctx, long))
	r.that(h.Until() > before, "the validity must grow with the lease")
	r.sleep(r.brief + short)
	r.refused(b, "whose lease was extended")
	r.that(h.Context().Err() == nil, "an extended lock was reported lost")
	r.ok("extend to a shorter lease", h.Extend(r.ctx, r.brief))
	r.sleep(r.brief + short)
	r.is("extend a lost lock", h.Extend(r.ctx, long), lockclient.ErrLost)
	r.ok("unlock", r.take(b).Unlock(r.ctx))
	r.is("unlock a lost lock", h.Unlock(r.ctx), lockclient.ErrLost)
	r.is("extend an unlocked lock", h.Extend(r.ctx, long), lockclient.ErrNotHeld)
}

func limitedWait(r *run) {
	a, b := r.process(), r.process()
	h := r.take(a, lockclient.Lease(long))
	begun := r.rt.Mono()
	_, err := b.lock.TryLock(r.ctx, lockclient.Wait(short))
	r.is("wait for a while", err, lockclient.ErrNotAcquired)
	waited := r.rt.Mono() - begun
	r.that(waited >= short, "a wait of %v took %v", short, waited)
	r.within(short+prompt, begun, "a limited wait")

	ctx, cancel := r.rt.WithDeadline(r.ctx, r.rt.Mono()+short)
	defer cancel()
	_, err = b.lock.Lock(ctx)
	r.is("wait until the context ends", err, context.DeadlineExceeded)
	r.ok("unlock", h.Unlock(r.ctx))
	r.ok("unlock", r.take(b).Unlock(r.ctx))
}

func foreignUnlock(r *run) {
	a, b := r.process(), r.process()
	first := r.take(a)
	r.ok("unlock", first.Unlock(r.ctx))
	second := r.take(b)
	r.is("unlock twice", first.Unlock(r.ctx), lockclient.ErrNotHeld)
	r.refused(a, "after a second unlock of its former holder")
	r.ok("unlock", second.Unlock(r.ctx))
}

func tokens(r *run) {
	a, b := r.process(), r.process()
	var last uint64
	for _, p := range []*process{a, b, a} {
		h := r.take(p)
		token, ok := h.Token()
		r.that(ok && token > last, "token %d (%v) after token %d", token, ok, last)
		last = token
		r.ok("unlock", h.Unlock(r.ctx))
	}
}
