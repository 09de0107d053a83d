package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What redis-server 7.0.15 says of such lines.
func TestUserLines(t *testing.T) {
	conf := &config{values: map[string]string{}}
	require.NoError(t, conf.load([]byte("user alice on >pw ~* +@all\nUSER bob off (+get ~a)\n")))
	require.Equal(t, [][]string{{"alice", "on", ">pw", "~*", "+@all"}, {"bob", "off", "(+get", "~a)"}}, conf.users)
	for line, want := range map[string]string{
		"user": reasonUnknown,
		"user alice on": "Error in user declaration 'alice': Duplicate user found. A user can only be defined once " +
			"in config files",
		"user carol wrong": "Error in user declaration 'user': Syntax error",
	} {
		var bad *configError
		require.ErrorAs(t, conf.load([]byte(line)), &bad)
		require.Equal(t, want, bad.reason)
	}
	conf.values["aclfile"] = "users.acl"
	require.Equal(t, errUsersTwice, conf.checkUsers())
}

func TestUserFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "users.acl")
	conf := &config{values: map[string]string{"aclfile": name}}
	const abort = "Aborting Redis startup because of ACL errors: "
	require.EqualError(t, conf.checkUsers(),
		abort+"Error loading ACLs, opening file '"+name+"': No such file or directory")
	require.NoError(t, os.WriteFile(name, []byte("user alice on\nalice off\n"), 0o600))
	require.ErrorContains(t, conf.checkUsers(), abort+name+":2 should start with user keyword followed by the username. ")
	require.NoError(t, conf.aclFile().Write([]byte("user alice on\n")))
	require.NoError(t, conf.checkUsers())
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "user alice on\n", string(text))
	require.NoError(t, (&config{values: map[string]string{}}).checkUsers(), "no file")
}
