package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A script is ended when the process has outgrown its part of the machine.
func TestScriptsMemoryIsBounded(t *testing.T) {
	limit := func() string { return "asked" }
	assert.Equal(t, "asked", boundMemory(limit, 0)(), "unknown")
	assert.Equal(t, "asked", boundMemory(limit, 1<<50)())
	assert.Equal(t, errScriptMemory, boundMemory(limit, 1<<10)())
}
