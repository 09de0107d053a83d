package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"minikv/internal/resp"
)

// aclRules is what the meaning of rules depends on.
type aclRules struct {
	commands     []Command
	openChannels bool // acl-pubsub-default allchannels
}

// What can be wrong with a rule.
const (
	errACLUnknown = "Unknown command or category name in ACL"
	errACLSyntax  = "Syntax error"
	errACLKeys    = "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any " +
		"effect. Try 'resetkeys' to start with an empty list of patterns"
	errACLChannels = "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have " +
		"any effect. Try 'resetchannels' to start with an empty list of channels"
	errACLPassword = "The password you are trying to remove from the user does not exist"
	errACLHash     = "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
	errACLSub      = "Allowing first-arg of a subcommand is not supported"
)

func (n *Node) aclRules() *aclRules {
	return &aclRules{n.aclCommands(), n.conf.get("acl-pubsub-default") == "allchannels"}
}

// mergeSelectors joins the words of selectors that are spread over several ones.
// unmatched is the index of a parenthesis that is not closed, or -1.
func mergeSelectors(words []string) (merged []string, unmatched int) {
	begun, at := "", -1
	for i, word := range words {
		closes := strings.HasSuffix(word, ")")
		switch {
		case strings.HasPrefix(word, "(") && !closes:
			begun, at = word, i
		case at >= 0:
			begun += " " + resp.CString(word)
			if closes {
				merged, at = append(merged, begun), -1
			}
		default:
			merged = append(merged, word)
		}
	}
	return merged, at
}

// setUser changes a user by one rule, or says why it cannot.
func (r *aclRules) setUser(u *user, rule string) (bad string) {
	if rule == "" {
		return ""
	}
	switch lowered(rule) {
	case "on":
		u.flags = u.flags&^userOff | userOn
	case "off":
		u.flags = u.flags&^userOn | userOff
	case "skip-sanitize-payload":
		u.flags = u.flags&^userSanitize | userSkipSanitize
	case "sanitize-payload":
		u.flags = u.flags&^userSkipSanitize | userSanitize
	case "nopass":
		u.flags |= userNoPass
		u.passwords = nil
	case "resetpass":
		u.flags &^= userNoPass
		u.passwords = nil
	case "clearselectors":
		u.selectors = u.selectors[:1]
	case "reset":
		u.reset(r.openChannels)
	default:
		return r.setUserOther(u, rule)
	}
	return ""
}

// setUserOther is setUser for the rules that begin with a sign.
func (r *aclRules) setUserOther(u *user, rule string) (bad string) {
	switch rule[0] {
	case '>':
		u.addPassword(hashPassword(rule[1:]))
		return ""
	case '<':
		return u.removePassword(hashPassword(rule[1:]))
	case '#', '!':
		hash := rule[1:]
		switch {
		case !isHash(hash):
			return errACLHash
		case rule[0] == '!':
			return u.removePassword(hash)
		}
		u.addPassword(hash)
		return ""
	case '(':
		if strings.HasSuffix(rule, ")") {
			return r.addSelector(u, rule[1:len(rule)-1])
		}
	}
	return r.setSelector(u.selectors[0], rule)
}

// addSelector adds the selector of the rules in text. Unbalanced quotes make it
// empty, as in Redis.
func (r *aclRules) addSelector(u *user, text string) (bad string) {
	s := r.newSelector()
	rules, ok := resp.SplitArgs([]byte(resp.CString(text)))
	for _, rule := range rules {
		if !ok {
			break
		}
		if bad := r.setSelector(s, string(rule)); bad != "" {
			return bad
		}
	}
	u.selectors = append(u.selectors, s)
	return ""
}

// reset makes u as it was when it was created, but for sanitize-payload.
func (u *user) reset(openChannels bool) {
	u.flags = userOff | userSanitize
	u.passwords = nil
	u.selectors = []*selector{{allChannels: openChannels}}
}

func (u *user) addPassword(hash string) {
	u.flags &^= userNoPass
	if !slices.Contains(u.passwords, hash) {
		u.passwords = append(u.passwords, hash)
	}
}

func (u *user) removePassword(hash string) (bad string) {
	at := slices.Index(u.passwords, hash)
	if at < 0 {
		return errACLPassword
	}
	u.passwords = slices.Delete(u.passwords, at, at+1)
	return ""
}

// setSelector changes a selector by one rule, or says why it cannot.
func (r *aclRules) setSelector(s *selector, rule string) (bad string) {
	switch lowered(rule) {
	case "":
		return errACLSyntax
	case "allkeys", "~*":
		s.allKeys, s.patterns = true, nil
	case "resetkeys":
		s.allKeys, s.patterns = false, nil
	case "allchannels", "&*":
		s.allChannels, s.channels = true, nil
	case "resetchannels":
		s.allChannels, s.channels = false, nil
	case "allcommands", "+@all":
		s.allowAll()
	case "nocommands", "-@all":
		s.allCommands, s.future, s.commands, s.firstArgs = false, false, commandSet{}, nil
	default:
		return r.setSelectorOther(s, rule)
	}
	return ""
}

// setSelectorOther is setSelector for the rules that name something.
func (r *aclRules) setSelectorOther(s *selector, rule string) (bad string) {
	allow := rule[0] == '+'
	switch name := resp.CString(rule[1:]); {
	case rule[0] == '~' || rule[0] == '%':
		return s.addPattern(rule)
	case rule[0] == '&':
		return s.addChannel(rule[1:])
	case !allow && rule[0] != '-':
		return errACLSyntax
	case strings.HasPrefix(name, "@"):
		return r.setCategory(s, name[1:], allow)
	case allow && strings.Contains(name, "|"):
		return r.allowPart(s, name)
	default:
		cmd := r.find(name)
		if cmd == nil {
			return errACLUnknown
		}
		s.set(cmd, allow)
	}
	return ""
}

// addPattern adds ~pattern, %R~pattern, %W~pattern or %RW~pattern.
func (s *selector) addPattern(rule string) (bad string) {
	if s.allKeys {
		return errACLKeys
	}
	may, pattern := mayRead|mayWrite, rule[1:]
	if rule[0] == '%' {
		var ok bool
		if may, pattern, ok = cutAccess(pattern); !ok {
			return errACLSyntax
		}
	}
	if hasSpaces(pattern) {
		return errACLSyntax
	}
	for i := range s.patterns {
		if s.patterns[i].pattern == pattern {
			s.patterns[i].may |= may
			return ""
		}
	}
	s.patterns = append(s.patterns, keyPattern{may, pattern})
	return ""
}

// cutAccess reads R~, W~ or RW~. Redis 7.0 takes neither letter, too, and ends
// when it shows such a user; here that is an error, as in later versions.
func cutAccess(text string) (may keyAccess, rest string, ok bool) {
	for i := range len(text) {
		switch letter := upper(text[i]); {
		case letter == 'R' && may&mayRead == 0:
			may |= mayRead
		case letter == 'W' && may&mayWrite == 0:
			may |= mayWrite
		case letter == '~':
			return may, text[i+1:], may != 0
		default:
			return 0, "", false
		}
	}
	return may, "", may != 0
}

func (s *selector) addChannel(pattern string) (bad string) {
	switch {
	case s.allChannels:
		return errACLChannels
	case hasSpaces(pattern):
		return errACLSyntax
	case !slices.Contains(s.channels, pattern):
		s.channels = append(s.channels, pattern)
	}
	return ""
}

// setCategory allows or forbids the commands of a category, and the subcommands
// of containers in it.
func (r *aclRules) setCategory(s *selector, name string, allow bool) (bad string) {
	group := groupOf(name)
	if group == 0 {
		return errACLUnknown
	}
	r.setGroup(s, group, allow)
	return ""
}

func (r *aclRules) setGroup(s *selector, group commandGroups, allow bool) {
	for cmd := range eachRow(r.commands) {
		if cmd.groups&group != 0 {
			s.set(cmd, allow)
		}
	}
}

// allowPart allows container|subcommand, or a command with one first argument.
func (r *aclRules) allowPart(s *selector, name string) (bad string) {
	at := strings.LastIndexByte(name, '|')
	cmd, part := r.find(name[:at]), name[at+1:]
	switch {
	case cmd == nil:
		return errACLUnknown
	case cmd.container() != cmd.full:
		return errACLSub
	case part == "":
		return errACLSyntax
	case cmd.Sub == nil:
		s.addFirstArg(cmd.row, part)
		return ""
	}
	if cmd = r.find(name); cmd == nil {
		return errACLUnknown
	}
	s.set(cmd, true)
	return ""
}

func (s *selector) addFirstArg(row int, arg string) {
	for i := range s.firstArgs {
		one := &s.firstArgs[i]
		if one.row == row {
			if !slices.ContainsFunc(one.args, func(have string) bool { return lowered(have) == lowered(arg) }) {
				one.args = append(one.args, arg)
			}
			return
		}
	}
	s.firstArgs = append(s.firstArgs, firstArgs{row, []string{arg}})
}

// allowAll allows all commands, those of modules to come included.
func (s *selector) allowAll() {
	s.allCommands, s.future, s.firstArgs = true, true, nil
	for i := range s.commands {
		s.commands[i] = ^uint64(0)
	}
}

// set allows or forbids a command and its subcommands.
func (s *selector) set(cmd *Command, allow bool) {
	s.allCommands = s.allCommands && allow
	s.commands.put(cmd.row, allow)
	s.firstArgs = slices.DeleteFunc(s.firstArgs, func(one firstArgs) bool { return one.row == cmd.row })
	for i := range cmd.Sub {
		s.commands.put(cmd.Sub[i].row, allow)
	}
}

// hashPassword is what is kept of a password.
func hashPassword(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

func isHash(text string) bool {
	return len(text) == 2*sha256.Size && strings.Trim(text, "0123456789abcdef") == ""
}

// hasSpaces reports whether a name or pattern has blanks or zero bytes in it.
func hasSpaces(text string) bool { return strings.ContainsAny(text, " \t\n\v\f\r\x00") }

// lowered is a word as C compares it when case does not matter.
func lowered(text string) string {
	low := []byte(resp.CString(text))
	for i, b := range low {
		if 'A' <= b && b <= 'Z' {
			low[i] = b + 'a' - 'A'
		}
	}
	return string(low)
}
