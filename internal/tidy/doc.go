// Package tidy checks the rules of this house that the compiler does not know.
//
// [Check] reads every file of the module once, the built ones with their types,
// and returns each [Violation] of a rule: where it is, what it is, and what to
// do instead. The rules are one file each:
//
//   - purity.go, order.go: no clock, no concurrency, no randomness and no map
//     order in what the simulator must be able to replay
//   - imports.go: imports point down, and a library has one home
//   - surface.go: other modules can name every type that packages for users
//     show
//   - sizes.go: short files, functions and lines
//   - docs.go: a doc.go in every package, a comment on every exported name
//   - text.go: gofmt, no unfinished work, no path that exists on one machine
//     only
//
// What a rule allows, and where, is data at the top of its file. The golden
// files in testdata are small modules that break each rule, so that every rule
// is seen to fail.
//
// Two things are not checked: that lockclient holds no mutex while it calls its
// Runtime, its Transport or the user; and map order that hides behind a type
// parameter.
package tidy
