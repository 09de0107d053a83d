// Command clients is the part of bench that is made of clients: lockclient over
// go-redis, and the simulator beside redislock. bench builds and starts it. It is a
// program of its own because go-redis takes as long to compile as all the rest, and
// the rows that have floors do without it.
//
//	clients locks ADDR CLIENTS alone|contended
//	clients simulator ADDR LENGTH
//
// locks reads the length of a round from each line of its input, and prints a round as
// one JSON object. simulator prints one figure a line.
package main
