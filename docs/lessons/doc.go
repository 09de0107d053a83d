// Package lessons holds the lessons on Redis locks that locksim serve shows.
// Each is a Markdown file whose name begins with its number. Where it has
// `locksim run NAME`, the page links to that run.
package lessons
