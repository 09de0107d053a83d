package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// order reads an `order` line: actions of an untimed run, in their order.
func (p *parser) order(words []string, line int) error {
	if len(words) == 0 {
		return errors.New("expected: order ACTION …")
	}
	p.s.Order = append(p.s.Order, words...)
	p.s.orderLines = append(p.s.orderLines, slices.Repeat([]int{line}, len(words))...)
	return nil
}

// checkOrder reports an order that cannot be: one with times, or of faults that
// need a clock.
func (p *parser) checkOrder() *SyntaxError {
	if len(p.s.Order) == 0 {
		return nil
	}
	for _, s := range p.s.Steps {
		return &SyntaxError{Line: s.Line, Reason: "a run with an order has no times: expected no at line"}
	}
	for _, k := range p.s.Faults.Kinds {
		if !slices.Contains(UntimedFaults(), k.Kind) {
			return &SyntaxError{Line: p.s.Faults.Line, Reason: k.Kind + " needs a clock: expected no order line"}
		}
	}
	return nil
}

// wordsInLine is how many actions a line has.
const wordsInLine = 8

// orderText is the `order` lines.
func (s *Scenario) orderText() string {
	var b strings.Builder
	for chunk := range slices.Chunk(s.Order, wordsInLine) {
		b.WriteString("order " + strings.Join(chunk, " ") + "\n")
	}
	return b.String()
}

// badAction is the error of an action that cannot happen where the others have led.
func (s *Scenario) badAction(i int, u *Untimed) error {
	var could []string
	for _, a := range u.Actions() {
		could = append(could, a.Text(u.Names()))
	}
	line := 0
	if i < len(s.orderLines) {
		line = s.orderLines[i]
	}
	return &SyntaxError{s.file, line, fmt.Sprintf("action %d, %s, cannot happen here: expected one of %q", i+1,
		s.Order[i], could)}
}

// runOrder runs the actions of the order, and nothing else.
func (s *Scenario) runOrder(ctx context.Context, opt Options) (*Report, error) {
	var kinds []string
	for _, k := range s.Faults.Kinds {
		kinds = append(kinds, k.Kind)
	}
	u, err := NewUntimed(s, UntimedOptions{Faults: kinds, Budget: len(s.Order), Servers: s.Faults.Servers,
		Options: opt})
	if err != nil {
		return nil, err
	}
	defer u.Close()
	for i, word := range s.Order {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a, bad := parseAction(word, u.r.lookUp)
		if bad != nil || !slices.Contains(u.Actions(), a) {
			return nil, s.badAction(i, u)
		}
		u.Do(a)
		if err := u.Err(); err != nil {
			return nil, err
		}
	}
	return u.Report(), nil
}
