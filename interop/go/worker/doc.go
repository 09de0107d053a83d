// Command worker uses the lock libraries of Go as told on standard input, one
// request per line:
//
//	ID PARTY VERB [ARGUMENT...]
//
// Requests of one PARTY, a name of the caller's choice, are served in order, and
// hold up no other party. Each is answered with one line,
//
//	ID ok    ID no [NAME]    ID none    ID error TEXT
//
// "no" is what the library says, by an error of that name or a result, when
// somebody else has the lock or it no longer has it itself; "none" means that it
// has no such thing. TEXT is the name of an exception where there are such; the
// program then says more on its standard error. The verbs:
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
