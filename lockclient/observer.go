package lockclient

import "time"

// EventKind says what an Event is about.
type EventKind uint8

// The kinds of Event.
const (
	Acquired  EventKind = iota + 1 // a Lock or TryLock succeeded: Wait, Attempts
	Failed                         // a Lock or TryLock gave up: Wait, Attempts, Err
	Renewed                        // the watchdog renewed a lease
	Unrenewed                      // a renewal got no answer, or no replica has it; it is tried again a period later: Err
	Released                       // an Unlock ended: Held, Err if it failed
	Lost                           // the lock ended by itself: Held
	// GivenBack says that background work has ended: what an Unlock failed to give back, or
	// what an acquisition of unknown outcome may have taken, was given back; or a place in a
	// queue was; or a CountDown of unknown outcome, or that no replica had, has counted. With
	// Err it was given up or refused for good; what has a lease then ends with it.
	GivenBack
)

// String returns the kind in lower case, such as "acquired".
func (k EventKind) String() string {
	switch k {
	case Acquired:
		return "acquired"
	case Failed:
		return "failed"
	case Renewed:
		return "renewed"
	case Unrenewed:
		return "unrenewed"
	case Released:
		return "released"
	case Lost:
		return "lost"
	case GivenBack:
		return "given back"
	}
	return "unknown"
}

// Event is something that happened to a lock of a Client. WithObserver receives them.
// Fields that the comment of the kind does not name, other than Kind, Key and Owner, are
// zero.
type Event struct {
	Kind     EventKind
	Key      string        // the lock
	Owner    string        // the owner on the wire
	Wait     time.Duration // from the call to its return
	Attempts int           // acquire scripts sent, or quorums asked; 0: none
	Held     time.Duration // from the grant to the event
	Err      error         // why it failed; nil: it did not
}
