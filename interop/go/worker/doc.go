// Command worker uses the lock libraries of Go as standard input tells it to,
// one request per line:
//
//	ID PARTY VERB [ARGUMENT...]
//
// Requests of one PARTY, a name of the caller's choice, are served in order,
// and hold up no other party. Each is answered with one line:
//
//	ID ok    ID no [NAME]    ID none    ID error TEXT
//
// "no" means that somebody else has the lock, or that the party no longer has
// it; the library said so by a result, or by the error called NAME. "none"
// means that the library has no such operation. TEXT is the name of an
// exception in languages that have exceptions; the program then says more on
// its standard error. The verbs:
//
//	open LIBRARY HOST:PORT   connects the party with a client of its own; ok VERSION
//	try NAME MILLIS          takes the lock for that long, at once or not at all
//	wait NAME MILLIS         waits for the lock
//	extend NAME MILLIS       lets the lease begin anew
//	release NAME
//	close
//
// The end of the input ends the program. The workers of other languages
// (interop/node, interop/python, interop/java) obey the same requests.
package main
