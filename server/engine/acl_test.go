package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"minikv/internal/resp"
)

// TestDescribedRulesMakeTheSameUser holds ACL LIST to what it is for: its rules
// make the same user again.
func TestDescribedRulesMakeTheSameUser(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := &aclRules{commands: aclTable}
		u := rules.newUser("u")
		for range rapid.IntRange(0, 8).Draw(t, "rules") {
			cmd := &aclTable[rapid.IntRange(0, len(aclTable)-1).Draw(t, "command")]
			if n := len(cmd.Sub); n > 0 && rapid.Bool().Draw(t, "subcommand") {
				cmd = &cmd.Sub[rapid.IntRange(0, n-1).Draw(t, "number")]
			}
			name := rapid.SampledFrom([]string{"@all", "@" + rapid.SampledFrom(aclCategories).Draw(t, "category"), cmd.full}).
				Draw(t, "name")
			require.Empty(t, rules.setUser(u, sign(rapid.Bool().Draw(t, "allow"))+name))
		}
		again := rules.newUser("u")
		text := rules.describe(u)
		words, _ := resp.SplitArgs([]byte(text))
		for _, word := range words {
			require.Empty(t, rules.setUser(again, string(word)), text)
		}
		require.Equal(t, u.selectors[0].commands, again.selectors[0].commands, text)
		require.Equal(t, text, rules.describe(again))
	})
}

func TestLogGroupsWhatIsNear(t *testing.T) {
	e := newEngineTarget()
	e.connect("c", 2)
	fail := func() {
		e.send("c", bytesOf([]string{"AUTH", "nobody", "x"}))
		_, ok := e.next("c", true)
		require.True(t, ok)
	}
	counts := func() (counts []int64) {
		for _, one := range e.node.access.log {
			counts = append(counts, one.count)
		}
		return counts
	}
	fail()
	e.sleep(time.Minute)
	fail()
	require.Equal(t, []int64{2}, counts())
	e.sleep(time.Minute + time.Millisecond)
	fail()
	require.Equal(t, []int64{1, 2}, counts())
}

// memoryFile is a file of users.
type memoryFile struct{ text *string }

func (f memoryFile) Name() string { return "users.acl" }

func (f memoryFile) Read() ([]byte, error) {
	if f.text == nil {
		return nil, errors.New("No such file or directory")
	}
	return []byte(*f.text), nil
}

func (f memoryFile) Write(text []byte) error {
	*f.text = string(text)
	return nil
}

// TestUsersOfAFile replies as redis-server 7.0.15 does with such files.
func TestUsersOfAFile(t *testing.T) {
	text := "user alice on nopass ~* +@all\n\nuser bob on >pw  ( ~a*  +get )\r\n"
	e := newEngineTarget()
	e.node.cfg.ACLFile = memoryFile{&text}
	e.connect("c", 2)
	e.connect("alice", 2)
	do := func(client string, words ...string) string {
		e.send(client, bytesOf(words))
		v, ok := e.next(client, true)
		require.True(t, ok)
		return resp.Describe(v)
	}
	require.Equal(t, "OK", do("c", "ACL", "LOAD"))
	require.Equal(t, "1) \"alice\"\n2) \"bob\"\n3) \"default\"", do("c", "ACL", "USERS"))
	require.Equal(t, "OK", do("alice", "AUTH", "alice", ""))
	require.Equal(t, "OK", do("c", "ACL", "SAVE"))
	require.Equal(t, "user alice on nopass ~* resetchannels +@all\n"+
		"user bob on #30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4 resetchannels -@all "+
		"(~a* resetchannels -@all +get)\nuser default on nopass ~* &* +@all\n", text)
	for wrong, why := range map[string]string{
		"alice on":                "users.acl:1 should start with user keyword followed by the username. ",
		"user a on\n\nuser a off": "WARNING: Duplicate user 'a' found on line 3. ",
		"user a +nosuch ~* ~b nosuch on": "users.acl:1: Error in applying operation '+nosuch': Unknown command or " +
			"category name in ACL. users.acl:1: " + errACLKeys + ". ",
		"user a\tb on": "'users.acl:1: username 'a\tb' contains invalid characters. ",
		"user a (+get": "users.acl:1: Unmatched parenthesis in selector definition.",
	} {
		text = wrong
		require.Equal(t, `(error) ERR `+why+"WARNING: ACL errors detected, no change to the previously active ACL rules "+
			"was performed", do("c", "ACL", "LOAD"))
	}
	require.False(t, e.clients["alice"].Closing())
	text = "user default on nopass ~a* +@all\nuser bob on >pw\n"
	require.Equal(t, "OK", do("c", "ACL", "LOAD"))
	require.Equal(t, "user default on nopass ~a* resetchannels +@all", e.node.userLines()[1])
	require.Len(t, e.node.userLines(), 2)
	require.True(t, e.clients["alice"].Closing(), "its user is gone")
	text = ""
	require.Equal(t, "OK", do("c", "ACL", "LOAD"))
	require.Equal(t, []string{"user default on nopass ~* &* +@all"}, e.node.userLines())
	e.node.cfg.ACLFile = memoryFile{}
	require.Equal(t, "(error) ERR Error loading ACLs, opening file 'users.acl': No such file or directory",
		do("c", "ACL", "LOAD"))
}

// A node begins with the users of its file.
func TestUsersOfAFileAreThereFromTheStart(t *testing.T) {
	text := "user default off\nuser bob on nopass +get\n"
	require.NoError(t, ValidateACLFile(memoryFile{&text}))
	n := New(Config{Clock: &manualClock{goldenStart}, ACLFile: memoryFile{&text}})
	require.Equal(t, []string{"user bob on nopass resetchannels -@all +get", "user default off resetchannels -@all"},
		n.userLines())
	text = "user bob on nosuch\n"
	require.ErrorContains(t, ValidateACLFile(memoryFile{&text}), "Aborting Redis startup because of ACL errors: ")
}

func TestUsersOfTheConfiguration(t *testing.T) {
	for _, words := range [][]string{{"a", "on", "(+get", "~x)"}, {"default", "off"}} {
		require.NoError(t, ValidateUser(words))
	}
	for want, words := range map[string][]string{
		"Error in user declaration 'user': Syntax error":                            {"a", "nosuch"},
		"Error in user declaration 'a': Syntax error":                               {"a", "on", "nosuch"},
		"Spaces not allowed in ACL usernames":                                       {"a b", "on"},
		"Error loading ACL rule '+nosuch' for the user named 'a': " + errACLUnknown: {"a", "+nosuch"},
	} {
		require.EqualError(t, ValidateUser(words), want)
	}
	n := New(Config{Clock: &manualClock{goldenStart}, Parameters: map[string]string{"requirepass": "pw"},
		Users: [][]string{{"default", "on", "+get"}, {"a", "on", "(+get", "~x)"},
			{"r", "on", ">pw", "+psync"}, {"s", "on", ">pw"}}})
	require.Equal(t, []string{"user a on resetchannels -@all (~x resetchannels -@all +get)",
		"user default on sanitize-payload resetchannels -@all +get"}, n.userLines()[:2])
	require.Equal(t, errNoAuth, n.RefuseReplica("", ""))
	require.Equal(t, errNoAuth, n.RefuseReplica("a", "pw"))
	require.Empty(t, n.RefuseReplica("r", "pw"))
	require.Equal(t, "NOPERM this user has no permissions to run the 'psync' command", n.RefuseReplica("s", "pw"))
}

// FuzzSetUser looks for rules that end the server, and for users whose
// description makes others.
func FuzzSetUser(f *testing.F) {
	for _, rule := range []string{
		"~a", "%R~", "+get|x", "(+get ~a)", "( \"", "+@all", "-config|get", "&x", "#", ">", "%", "+|",
	} {
		f.Add(rule, "+get", []byte("GET a"))
	}
	f.Fuzz(func(t *testing.T, first, second string, line []byte) {
		rules := &aclRules{commands: aclTable}
		u := rules.newUser("u")
		merged, _ := mergeSelectors([]string{first, second})
		for _, rule := range merged {
			rules.setUser(u, rule)
		}
		_ = rules.describe(u)
		for _, rule := range []string{"+@all", "resetkeys", "resetchannels"} {
			rules.setUser(u, rule)
		}
		if args, ok := resp.SplitArgs(line); ok && len(args) > 0 {
			if cmd := byName(args[0]); cmd != nil {
				if cmd, _ = cmd.resolve(args); cmd != nil {
					u.denies(cmd, args)
				}
			}
		}
	})
}
