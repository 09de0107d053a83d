package engine

import (
	"math"
	"slices"
	"strings"
)

// describe is a user as rules that make it.
// Source: ACLDescribeUser of Redis 7.0.
func (r *aclRules) describe(u *user) string {
	var text strings.Builder
	for _, one := range userFlagNames {
		if u.flags&one.flag != 0 {
			text.WriteString(one.name + " ")
		}
	}
	for _, hash := range u.passwords {
		text.WriteString("#" + hash + " ")
	}
	for i, s := range u.selectors {
		if i == 0 {
			text.WriteString(r.describeSelector(s))
		} else {
			text.WriteString(" (" + r.describeSelector(s) + ")")
		}
	}
	return text.String()
}

func (r *aclRules) describeSelector(s *selector) string {
	text := s.describeKeys()
	if text != "" {
		text += " "
	}
	if !s.allChannels {
		text += "resetchannels "
	}
	if channels := s.describeChannels(); channels != "" {
		text += channels + " "
	}
	return text + r.describeCommands(s)
}

// describeKeys is the rules for keys, with blanks between them.
func (s *selector) describeKeys() string {
	if s.allKeys {
		return "~*"
	}
	rules := make([]string, len(s.patterns))
	for i, one := range s.patterns {
		rules[i] = patternSigns[one.may] + one.pattern
	}
	return strings.Join(rules, " ")
}

var patternSigns = map[keyAccess]string{mayRead: "%R~", mayWrite: "%W~", mayRead | mayWrite: "~"}

// describeChannels is the rules for channels, with blanks between them.
func (s *selector) describeChannels() string {
	if s.allChannels {
		return "&*"
	}
	rules := make([]string, len(s.channels))
	for i, pattern := range s.channels {
		rules[i] = "&" + pattern
	}
	return strings.Join(rules, " ")
}

// describeCommands finds rules that allow what s allows: all commands or none,
// then the categories that fit best, then single commands, these in the order
// of the table; Redis has none.
// Source: ACLDescribeSelectorCommandRules of Redis 7.0.
func (r *aclRules) describeCommands(s *selector) string {
	made := &selector{} // what the rules so far allow
	rules := []string{"-@all"}
	if s.future {
		made.allowAll()
		rules[0] = "+@all"
	}
	left := &selector{commands: s.commands} // without the categories so far
	var used commandGroups
	for {
		best := r.bestCategory(left, !s.future, used)
		if best < 0 {
			break
		}
		used |= 1 << best
		r.setGroup(made, 1<<best, !s.future)
		r.setGroup(left, 1<<best, s.future)
		rules = append(rules, sign(!s.future)+"@"+aclCategories[best])
	}
	for cmd := range eachRow(r.commands) {
		rules = s.describeCommand(cmd, made, rules)
		if !s.commands.has(cmd.row) {
			for _, arg := range s.firstArgsOf(cmd.row) {
				rules = append(rules, "+"+cmd.full+"|"+arg)
			}
		}
	}
	return strings.Join(rules, " ")
}

// describeCommand adds a rule for one command unless those before it do.
func (s *selector) describeCommand(cmd *Command, made *selector, rules []string) []string {
	allowed := s.commands.has(cmd.row)
	if allowed == made.commands.has(cmd.row) {
		return rules
	}
	made.set(cmd, allowed)
	return append(rules, sign(allowed)+cmd.full)
}

// bestCategory is the one that has most commands allowed (or, if not additive,
// forbidden), with the fewest exceptions; -1 when none helps.
func (r *aclRules) bestCategory(s *selector, additive bool, used commandGroups) int {
	best, fewest, most := -1, math.MaxInt, 0
	for i := range aclCategories {
		if used&(1<<i) != 0 {
			continue
		}
		same, other := r.count(s, 1<<i, additive)
		if same > other && (other < fewest || other == fewest && same > most) {
			best, fewest, most = i, other, same
		}
	}
	return best
}

// count counts the commands of a category that are allowed or not as asked, and
// the others.
func (r *aclRules) count(s *selector, group commandGroups, allowed bool) (same, other int) {
	for cmd := range eachRow(r.commands) {
		switch {
		case cmd.groups&group == 0:
		case s.commands.has(cmd.row) == allowed:
			same++
		default:
			other++
		}
	}
	return same, other
}

// firstArgsOf are the first arguments with which a command is allowed.
func (s *selector) firstArgsOf(row int) []string {
	at := slices.IndexFunc(s.firstArgs, func(one firstArgs) bool { return one.row == row })
	if at < 0 {
		return nil
	}
	return s.firstArgs[at].args
}

func sign(allowed bool) string {
	if allowed {
		return "+"
	}
	return "-"
}
