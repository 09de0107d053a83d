// Package trace holds the one kind of event from which everything else is made:
// the text story, the JSONL file, the checkers, the page and the "why" of a
// violation.
//
// An [Event] has a number, a virtual time, an actor and a cause: the number of
// the event that it followed from. Its numeric fields, and only these, go into
// the [Hash] of a run; keys, texts and details are for people and are filled in
// only while tracing is on. So tracing changes neither the numbers nor the
// hash.
package trace
