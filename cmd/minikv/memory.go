package main

import (
	"runtime"
	"runtime/metrics"
)

// A script may build as much as it likes, as in Redis, until the process has grown
// to most of the machine: a Go program that is out of memory dies, and takes the
// machine with it.

// errScriptMemory ends a script for which there is no memory.
const errScriptMemory = "OOM not enough memory for the script"

// mostOfMachine is the part of the machine's memory, in percent, that a script may
// have the process use.
const mostOfMachine = 75

// boundMemory is limit, which scripts ask again and again, and a bound on the
// memory of the process. machine is in bytes; 0: unknown, and nothing is bounded.
func boundMemory(limit func() string, machine int64) func() string {
	most := uint64(machine) / 100 * mostOfMachine
	if most == 0 {
		return limit
	}
	return func() string {
		if heapBytes() > most {
			runtime.GC() // some of it may be garbage
			if heapBytes() > most {
				return errScriptMemory
			}
		}
		return limit()
	}
}

// heapBytes is what Go's objects take, those included that are garbage.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
