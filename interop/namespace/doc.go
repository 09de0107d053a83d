// Package namespace has a test binary run in a network namespace of its own, in which
// every address of the loopback interface and iptables are its own, and of which nothing is
// seen outside or left behind. That needs Linux, root, ip and iptables.
package namespace
