package main

import (
	"strings"
	"testing"
)

// Any configuration is taken, or refused with an error that can be shown.
func FuzzConfiguration(f *testing.F) {
	f.Add("port 7000\nsave 900 1\nsave 300 10\nrequirepass \"a\\x41\"\n")
	f.Add("cluster 3x1\ncontrol 7\nclock virtual\nseed 5\n")
	f.Add("client-output-buffer-limit pubsub 1mb 0 60\nbind * -::*\n'\"")
	f.Add("prot 1\n--port=1\nsentinel monitor m 127.0.0.1 1 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ToLower(text), "include") {
			t.Skip("it would read other files")
		}
		conf, err := parseArguments([]string{"-"}, strings.NewReader(text))
		if err == nil {
			err = conf.checkSupported()
		}
		if err == nil {
			_, err = conf.options()
		}
		if bad, ok := err.(*configError); ok && !strings.Contains(bad.report(), bad.reason) {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil && err.Error() == "" {
			t.Errorf("%q: an error without words", text)
		}
	})
}
