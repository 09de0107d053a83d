package engine

import (
	"fmt"
	"slices"
	"strings"
)

// File is a file that a command reads and replaces. Its errors are the system's, in the
// words that C has for them.
type File interface {
	Name() string // as it is configured
	Read() ([]byte, error)
	Write(text []byte) error
}

// ValidateUser checks what follows the word user in a line of redis.conf, the
// name and the rules. Its error is in Redis's words.
// Source: ACLAppendUserForLoading of Redis 7.0.
func ValidateUser(words []string) error {
	refused := func(at int, bad string) error { // it counts from another word than it names
		word := "user"
		if at > 0 {
			word = words[at-1]
		}
		return fmt.Errorf("Error in user declaration '%s': %s", word, bad)
	}
	merged, unmatched := mergeSelectors(words[1:])
	if unmatched >= 0 {
		return refused(unmatched, errACLUnknown) // the errno that is left from before
	}
	rules := &aclRules{commands: aclTable}
	u := rules.newUser(words[0])
	for i, rule := range merged {
		switch bad := rules.setUser(u, rule); bad {
		case "":
		case errACLUnknown:
			return fmt.Errorf("Error loading ACL rule '%s' for the user named '%s': %s", rule, words[0], bad)
		default:
			return refused(i, bad)
		}
	}
	if hasSpaces(words[0]) {
		return fmt.Errorf("Spaces not allowed in ACL usernames")
	}
	return nil
}

// ValidateACLFile checks a file of users as redis-server does when it starts.
func ValidateACLFile(file File) error {
	if _, bad := (&aclRules{commands: aclTable}).read(file); bad != "" {
		return fmt.Errorf("Aborting Redis startup because of ACL errors: %s", bad)
	}
	return nil
}

// configure takes in users that have been checked by ValidateUser, and those of
// the file, if there is one, which ValidateACLFile has checked.
func (n *Node) configure(users [][]string) {
	rules := n.aclRules()
	if n.cfg.ACLFile != nil {
		found, bad := rules.read(n.cfg.ACLFile)
		if bad != "" {
			panic("engine: " + bad)
		}
		n.access.replace(found)
	}
	for _, words := range users {
		u := n.access.find(words[0])
		if u == nil {
			u = rules.newUser(words[0])
			n.access.add(u)
		}
		changed := rules.newUser(words[0])
		if u == n.access.root {
			changed.reset(rules.openChannels)
		}
		merged, _ := mergeSelectors(words[1:])
		for _, rule := range merged {
			if bad := rules.setUser(changed, rule); bad != "" {
				panic("engine: user " + words[0] + ": " + bad)
			}
		}
		u.become(changed)
	}
}

// read reads a file of users, or says what is wrong with it.
func (r *aclRules) read(file File) (users []*user, bad string) {
	text, err := file.Read()
	if err != nil {
		return nil, "Error loading ACLs, opening file '" + file.Name() + "': " + err.Error()
	}
	return r.parse(file.Name(), string(text))
}

// parse reads users, each on a line of its own.
// Source: ACLLoadFromFile of Redis 7.0.
func (r *aclRules) parse(file, text string) (users []*user, bad string) {
	for i, line := range strings.Split(text, "\n") {
		line = strings.Trim(line, " \t\r\n")
		if line == "" {
			continue
		}
		words := strings.Split(line, " ")
		place := fmt.Sprintf("%s:%d", file, i+1)
		switch {
		case words[0] != "user" || len(words) < 2:
			bad += place + " should start with user keyword followed by the username. "
		case hasSpaces(words[1]):
			bad += "'" + place + ": username '" + words[1] + "' contains invalid characters. "
		case slices.ContainsFunc(users, func(u *user) bool { return u.name == words[1] }):
			bad += fmt.Sprintf("WARNING: Duplicate user '%s' found on line %d. ", words[1], i+1)
		default:
			u := r.newUser(words[1])
			users = append(users, u)
			bad += r.load(u, words[2:], place)
		}
	}
	if bad != "" {
		return nil, bad + "WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
	}
	return users, ""
}

// load gives a user its rules, and says what is wrong with those that are not
// known, and with the first of the others.
func (r *aclRules) load(u *user, words []string, place string) (bad string) {
	merged, unmatched := mergeSelectors(words)
	if unmatched >= 0 {
		return place + ": Unmatched parenthesis in selector definition."
	}
	told := false
	for _, rule := range merged {
		rule = strings.Trim(rule, "\t\r\n")
		switch why := r.setUser(u, rule); {
		case why == errACLUnknown:
			bad += place + ": Error in applying operation '" + rule + "': " + why + ". "
		case why != "" && !told:
			bad += place + ": " + why + ". "
			told = true
		}
	}
	return bad
}

// replace makes users those that there are, and returns the others. The default
// user stays the same one, with other rules.
func (a *access) replace(users []*user) (gone []*user) {
	old := a.users
	a.users = []*user{a.root}
	rules := &user{flags: userOn | userNoPass, selectors: []*selector{everything}}
	for _, u := range users {
		if u.name == a.root.name {
			rules = u
			continue
		}
		fresh := &user{name: u.name}
		fresh.become(u)
		a.add(fresh)
	}
	a.root.become(rules)
	return slices.DeleteFunc(old, func(u *user) bool { return u == a.root })
}
