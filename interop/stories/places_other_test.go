//go:build !linux

package stories

import "errors"

func enter() (absent string) { return "they need Linux" }

type places struct{ story int }

func (p *places) address(string) string { return "" }
func (p *places) cut(_, _ string) error { return errors.ErrUnsupported }
func (p *places) mend() error           { return errors.ErrUnsupported }
