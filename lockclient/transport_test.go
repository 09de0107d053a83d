package lockclient_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"minikv/lockclient"
)

func TestRedirect(t *testing.T) {
	for text, want := range map[string]struct {
		addr       string
		asking, ok bool
	}{
		"MOVED 8718 127.0.0.1:7001": {"127.0.0.1:7001", false, true},
		"ASK 8718 ::1:7001":         {"::1:7001", true, true},
		"ASK 8718":                  {},
		"MOVED":                     {},
		"ERR MOVED 1":               {},
		"TRYAGAIN Multiple keys request during rehashing of slot": {},
	} {
		addr, asking, ok := (&lockclient.ServerError{Text: text}).Redirect()
		assert.Equal(t, want.addr, addr, text)
		assert.Equal(t, want.asking, asking, text)
		assert.Equal(t, want.ok, ok, text)
	}
}
