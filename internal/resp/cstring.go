package resp

import "strings"

// CString returns text up to its first zero byte, which ends a string of C: that is what
// Redis reads of an argument that it treats as one, and shows of it in most errors.
func CString[T ~string | ~[]byte](text T) string {
	short, _, _ := strings.Cut(string(text), "\x00")
	return short
}
