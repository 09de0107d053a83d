package engine

import (
	"strings"
)

// statistics are the counters of INFO; CONFIG RESETSTAT clears them.
type statistics struct {
	commands    int64
	connections int64
	dirty       int64 // changes since the start: the shell never saves
	expired     int64
	errors      int64
	perCommand  []commandStats   // by the number of the row or sub-row; nil until used
	perError    map[string]int64 // by code word
}

type commandStats struct{ calls, rejected, failed int64 }

// count accounts for a command that ran, and failed if failure is not empty.
func (s *statistics) count(c *Call, failure string) {
	one := s.of(c.Cmd)
	one.calls++
	if failure != "" {
		one.failed++
		if !c.counted {
			s.countError(failure)
		}
	}
}

// reject accounts for a command that was refused; cmd is nil if it is none.
func (s *statistics) reject(cmd *Command, text string) {
	if cmd != nil {
		s.of(cmd).rejected++
	}
	s.countError(text)
}

func (s *statistics) of(cmd *Command) *commandStats {
	if s.perCommand == nil {
		s.begin()
	}
	return &s.perCommand[cmd.row]
}

func (s *statistics) begin() { s.perCommand = make([]commandStats, tableRows) }

func (s *statistics) countError(text string) {
	s.errors++
	code, _, _ := strings.Cut(text, " ")
	if s.perError == nil {
		s.perError = make(map[string]int64)
	}
	s.perError[code]++
}
