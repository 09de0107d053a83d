// Package exec runs test commands of Python, Node and Java under minikv exec: one
// as applications have it, which knows nothing of minikv and looks for a cluster
// at REDIS_URL, and one that moves the clock by the command MINIKV.
//
// interop/run.sh builds what they need and runs the tests; without it they are
// skipped.
package exec
