// Package exec runs test commands of Python, Node and Java under minikv exec.
// One test command of each language is as applications have it: it knows
// nothing of minikv and looks for a cluster at REDIS_URL, which may begin with
// rediss. Another moves the clock by the command MINIKV.
//
// interop/run.sh builds what they need and runs the tests; without it they are
// skipped.
package exec
