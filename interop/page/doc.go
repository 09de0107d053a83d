// Package page reads and writes the tables of docs/interop.md, which tests hold
// to what they find. A table stands in a section, between two comments that name it.
package page
