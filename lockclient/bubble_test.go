package lockclient_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs a test in a time of its own, which goes on until what the test
// began has ended: no busy machine can make it late.
func bubble(t *testing.T, test func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(time.Hour)
		test(t)
	})
}
