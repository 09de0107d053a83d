// Package memory tells how much memory this process may use, and whether it has grown
// to most of it. A Go program that is out of memory dies, and may take its machine with
// it; a script that asks in time is ended instead. It also says how seldom garbage is
// swept.
package memory
