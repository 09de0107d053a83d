// Package precise computes functions of package math as C's library does: with
// twice the digits of a float64, then rounded. Go's functions differ from C's
// in the last digit, which shows: the floor of the decimal logarithm of 1000
// may be 2, and a distance that Redis stores may be another number.
//
// NaN, infinities and numbers far from 0 are left to package math.
package precise
