package engine

import (
	"strconv"
	"strings"
)

// eventClass is a class of keyspace events, as notify-keyspace-events names
// them by a letter.
type eventClass uint32

// The letters of notify-keyspace-events, in the order in which Redis prints them.
const eventLetters = "g$lshzxetdnKEm"

const (
	eventGeneric eventClass = 1 << iota
	eventString
	eventList
	eventSet
	eventHash
	eventZset
	eventExpired
	eventEvicted
	eventStream
	eventModule
	eventNew
	eventKeyspace
	eventKeyevent
	eventMiss

	eventAll = eventGeneric | eventString | eventList | eventSet | eventHash | eventZset |
		eventExpired | eventEvicted | eventStream | eventModule
)

// parseEvents reads the value of notify-keyspace-events.
func parseEvents(text string) (classes eventClass, ok bool) {
	for i := 0; i < len(text); i++ {
		if text[i] == 'A' {
			classes |= eventAll
			continue
		}
		at := strings.IndexByte(eventLetters, text[i])
		if at < 0 {
			return 0, false
		}
		classes |= 1 << at
	}
	return classes, true
}

// shown is the form in which CONFIG GET shows classes: n is not shown behind A.
// Source: keyspaceEventsFlagsToString of Redis 7.0.
func (classes eventClass) shown() string {
	if classes&eventAll == eventAll {
		classes &^= eventNew
	}
	return classes.String()
}

// String is what parseEvents reads as classes.
func (classes eventClass) String() string {
	var text []byte
	if classes&eventAll == eventAll {
		text = append(text, 'A')
		classes &^= eventAll
	}
	for i := 0; i < len(eventLetters); i++ {
		if classes&(1<<i) != 0 {
			text = append(text, eventLetters[i])
		}
	}
	return string(text)
}

// notify publishes a keyspace event, if the configuration asks for its class.
func (n *Node) notify(db int, event, key string) {
	wanted := n.conf.notify
	if wanted&classOf(event) == 0 {
		return
	}
	suffix := "@" + strconv.Itoa(db) + "__:"
	if wanted&eventKeyspace != 0 {
		n.Publish("__keyspace"+suffix+key, event)
	}
	if wanted&eventKeyevent != 0 {
		n.Publish("__keyevent"+suffix+event, key)
	}
}

// classOf is the class that an event belongs to.
func classOf(event string) eventClass {
	switch event {
	case "sortstore":
		return eventList
	case "del", "expire", "persist", "rename_from", "rename_to", "move_from", "move_to", "copy_to", "restore":
		return eventGeneric
	case "keymiss":
		return eventMiss
	case "new":
		return eventNew
	case "expired":
		return eventExpired
	case "evicted":
		return eventEvicted
	case "set", "setrange", "incrby", "incrbyfloat", "append", "getex", "getdel", "setbit":
		return eventString
	}
	return classByPrefix(event)
}

// classByPrefix is classOf for events named after their command, whose first
// letter tells the type.
func classByPrefix(event string) eventClass {
	switch event[0] {
	case 'h', 'p':
		if strings.HasPrefix(event, "pf") {
			return eventString
		}
		return eventHash
	case 'z', 'g':
		return eventZset
	case 's':
		return eventSet
	case 'x':
		return eventStream
	}
	return eventList
}
