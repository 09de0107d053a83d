// Package exec runs test commands of Python, Node and Java as applications have
// them, which know nothing of minikv and look for a cluster at REDIS_URL, under
// minikv exec.
//
// interop/run.sh builds what they need and runs the tests; without it they are
// skipped.
package exec
