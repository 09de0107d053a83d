// Package lessons has the lessons on Redis locks, for locksim serve. Each is a
// Markdown file whose name begins with its number; `locksim run NAME` in it is a
// link there.
package lessons
