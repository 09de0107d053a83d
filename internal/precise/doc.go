// Package precise computes functions of package math as C's library does: with twice
// the digits of a float64, and then rounded. Go's differ from C's in the last digit, so
// that the floor of a decimal logarithm of 1000 may be 2, and a distance that Redis
// stores is another number.
//
// What is no number, infinite or far from 0 is left to package math.
package precise
