package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Text returns the scenario as a file that ParseScenario reads.
func (s *Scenario) Text() string {
	var b strings.Builder
	for line := range strings.Lines(s.Claim) {
		b.WriteString("# " + strings.TrimSpace(line) + "\n")
	}
	b.WriteString("world" + words(s.World.Words) + "\n")
	if len(s.Expect) > 0 {
		b.WriteString("expect")
		for _, e := range s.Expect {
			fmt.Fprintf(&b, " %s=%s", e.Check, e.Verdict)
		}
		b.WriteString("\n")
	}
	b.WriteString(s.Faults.text())
	for _, step := range s.Steps {
		b.WriteString(step.Text() + "\n")
	}
	b.WriteString(s.orderText())
	fmt.Fprintf(&b, "run for=%s seed=%d\n", DurationText(s.For), s.Seed)
	return b.String()
}

// Text returns the step as a line of a file.
func (s Step) Text() string {
	line := "at " + DurationText(s.At) + " " + s.Verb
	if len(s.Args) > 0 {
		line += " " + strings.Join(s.Args, " ")
	}
	return line + words(s.Opts)
}

func words(opts []Option) string {
	text := ""
	for _, o := range opts {
		text += " " + o.Name + "=" + o.Value
	}
	return text
}

// text is the `faults` line, "" without any.
func (f *Faults) text() string {
	if len(f.Kinds) == 0 {
		return ""
	}
	return "faults " + strings.Join(f.Words(), " ") + "\n"
}

// Words returns the words of the `faults` line.
func (f *Faults) Words() (words []string) {
	for _, k := range f.Kinds {
		words = append(words, k.Text())
	}
	if f.Most > 0 {
		words = append(words, fmt.Sprintf("most=%d", f.Most))
	}
	if f.Servers > 0 {
		words = append(words, fmt.Sprintf("servers=%d", f.Servers))
	}
	if f.Cuts > 0 {
		words = append(words, fmt.Sprintf("cuts=%d", f.Cuts))
	}
	if f.Strategy != "" {
		words = append(words, "strategy="+f.Strategy)
	}
	return words
}

// Text returns the kind with its range, as the `faults` line has it.
func (k FaultRange) Text() string {
	switch {
	case k.Hi == 0:
		return k.Kind
	case findFault(k.Kind).amount == aRate:
		return k.Kind + "=" + percentage(k.Hi)
	case k.Lo == k.Hi:
		return k.Kind + "=" + DurationText(time.Duration(k.Lo))
	}
	return k.Kind + "=" + DurationText(time.Duration(k.Lo)) + ".." + DurationText(time.Duration(k.Hi))
}

// DurationText returns a duration as scenario files have it: 1m30s, but 2m rather than
// 2m0s.
func DurationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// With returns the scenario with an option of its world line set to value; "" takes the
// option away. An error says why there is no such scenario.
func (s *Scenario) With(name, value string) (*Scenario, error) {
	c := *s
	c.World.Words = slices.DeleteFunc(slices.Clone(s.World.Words), func(o Option) bool { return o.Name == name })
	if value != "" {
		i := slices.IndexFunc(s.World.Words, func(o Option) bool { return o.Name == name })
		if i < 0 {
			i = len(c.World.Words)
		}
		c.World.Words = slices.Insert(c.World.Words, i, Option{name, value})
	}
	return c.Again()
}

// WithFaults returns the scenario with another `faults` line; without words it has none.
func (s *Scenario) WithFaults(words []string) (*Scenario, error) {
	c := *s
	c.Faults = Faults{}
	p := &parser{s: &c}
	if len(words) > 0 {
		if err := p.faults(words, 0); err != nil {
			return nil, err
		}
	}
	if err := p.checkFaults(); err != nil {
		return nil, fmt.Errorf("%s", err.Reason)
	}
	return &c, nil
}

// Again parses the scenario's text anew, which checks what was changed by hand.
func (s *Scenario) Again() (*Scenario, error) {
	again, err := ParseScenario(s.Name+".scenario", s.Text())
	if err != nil {
		return nil, err
	}
	for i := range again.Steps {
		again.Steps[i].Fault = s.Steps[i].Fault
	}
	return again, nil
}

// As returns the scenario that the report is about, with what the nemesis did as lines:
// nothing in it is drawn any more but delays and the like.
func (r *Report) As() *Scenario {
	s := *r.Scenario
	s.Faults = Faults{}
	s.Steps = slices.Clone(r.Steps)
	return &s
}
