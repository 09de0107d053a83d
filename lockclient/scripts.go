package lockclient

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
)

// The scripts, written from Redisson's protocol (its state after release 4.7.0).
// Each file opens with its keys, arguments and replies; that comment is part of
// the text that is sent, so file, SHA1 and wire agree.
var (
	//go:embed scripts/mutex_acquire.lua
	mutexAcquireText string
	//go:embed scripts/fenced_acquire.lua
	fencedAcquireText string
	//go:embed scripts/mutex_release.lua
	mutexReleaseText string
	//go:embed scripts/mutex_force.lua
	mutexForceText string
	//go:embed scripts/mutex_renew.lua
	mutexRenewText string
	//go:embed scripts/redlock_release.lua
	redlockReleaseText string
	//go:embed scripts/redlock_extend.lua
	redlockExtendText string
)

// Constant after initialisation.
var (
	mutexAcquire   = NewScript("mutex-acquire", mutexAcquireText)
	fencedAcquire  = NewScript("fenced-acquire", fencedAcquireText)
	mutexRelease   = NewScript("mutex-release", mutexReleaseText)
	mutexForce     = NewScript("mutex-force", mutexForceText)
	mutexRenew     = NewScript("mutex-renew", mutexRenewText)
	redlockRelease = NewScript("redlock-release", redlockReleaseText)
	redlockExtend  = NewScript("redlock-extend", redlockExtendText)
)

// NewScript names a script and computes its SHA1.
func NewScript(name, text string) *Script {
	sum := sha1.Sum([]byte(text))
	return &Script{Name: name, Text: text, SHA: hex.EncodeToString(sum[:])}
}
