// Package namespace runs a test binary in a network namespace of its own. Every
// address of the loopback interface and all of iptables belong to it there;
// nothing is seen outside, and nothing is left behind. It needs Linux, root, ip
// and iptables.
package namespace
