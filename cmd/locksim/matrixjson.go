package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/explore"
	"minikv/sim/matrix"
)

// cellJSON is one cell as --format json has it.
type cellJSON struct {
	Row      int           `json:"row"`
	Title    string        `json:"title"`
	Lock     string        `json:"lock"`
	Profile  string        `json:"profile"`
	Variant  string        `json:"variant,omitempty"`
	Verdict  string        `json:"verdict"`
	Searched int           `json:"searched"`
	Replay   string        `json:"replay"`
	Expected string        `json:"expected"`
	Code     string        `json:"code"`
	Reason   string        `json:"reason"`
	Agrees   bool          `json:"agrees"`
	Listed   string        `json:"listed,omitempty"`
	Told     *matrix.Story `json:"told,omitempty"`
	Claims   []claimJSON   `json:"claims,omitempty"`
}

// claimJSON is one thing that the cell says.
type claimJSON struct {
	Check    string   `json:"check"`
	Expected string   `json:"expected"`
	Verdict  string   `json:"verdict"`
	Searched int      `json:"searched"`
	Other    int      `json:"other,omitempty"` // violations that did not need the row's fault
	Millis   int64    `json:"millis"`          // that the search took
	Needs    []string `json:"needs,omitempty"`
	Finding  string   `json:"finding,omitempty"`
	Twin     string   `json:"twin,omitempty"`
	Replay   string   `json:"replay,omitempty"`
	Differs  string   `json:"differs,omitempty"`

	Story      string `json:"story,omitempty"`
	Faults     int    `json:"faults,omitempty"`     // of the story
	Operations int    `json:"operations,omitempty"` // likewise

	Orders *matrix.Orders `json:"orders,omitempty"`
}

// cellOf is a result as JSON has it: one object a line, as soon as it is there.
func cellOf(r matrix.Result) cellJSON {
	c := cellJSON{Row: r.Row, Title: r.Title, Lock: r.Lock, Profile: r.Profile, Variant: r.Variant,
		Verdict: r.Verdict, Expected: r.Expected, Code: r.Code, Reason: r.Reason, Agrees: r.Agrees,
		Listed: r.Listed, Told: r.Told}
	for _, one := range r.Claims {
		c.Searched += one.Searched
		if c.Replay == "" || one.Verdict.String() == r.Verdict {
			c.Replay = one.Replay
		}
		j := claimJSON{Check: one.Check, Expected: one.Expected.String(), Verdict: one.Verdict.String(),
			Searched: one.Searched, Other: one.Other, Millis: one.Took.Milliseconds(), Needs: one.Needs,
			Finding: one.Finding, Twin: one.Twin, Replay: one.Replay, Differs: one.Differs, Orders: one.Orders}
		if one.Story != nil {
			j.Story, j.Faults, j.Operations = one.Story.Story.Text(), one.Story.Faults, one.Story.Asked
		}
		c.Claims = append(c.Claims, j)
	}
	return c
}

// cellWriter writes cells, one object a line.
func cellWriter(out io.Writer) *json.Encoder {
	w := json.NewEncoder(out)
	w.SetEscapeHTML(false)
	return w
}

// result is the cell that the JSON tells of.
func (c *cellJSON) result() (matrix.Result, error) {
	if _, known := verdictOf(c.Verdict); !known && c.Verdict != "not-applicable" {
		return matrix.Result{}, fmt.Errorf("unknown verdict: %q", c.Verdict)
	}
	r := matrix.Result{Row: c.Row, Title: c.Title, Lock: c.Lock, Profile: c.Profile, Variant: c.Variant,
		Verdict: c.Verdict, Expected: c.Expected, Code: c.Code, Reason: c.Reason, Agrees: c.Agrees, Listed: c.Listed,
		Told: c.Told}
	for _, j := range c.Claims {
		one := matrix.ClaimResult{Check: j.Check, Searched: j.Searched, Other: j.Other, Needs: j.Needs,
			Took: time.Duration(j.Millis) * time.Millisecond, Finding: j.Finding, Twin: j.Twin, Replay: j.Replay,
			Differs: j.Differs, Orders: j.Orders}
		var known [2]bool
		one.Expected, known[0] = verdictOf(j.Expected)
		one.Verdict, known[1] = verdictOf(j.Verdict)
		if slices.Contains(known[:], false) {
			return r, fmt.Errorf("unknown verdict: %q or %q", j.Expected, j.Verdict)
		}
		if j.Story != "" {
			s, err := sim.ParseScenario("story", j.Story)
			if err != nil {
				return r, err
			}
			one.Story = &explore.Shrunk{Story: s, Faults: j.Faults, Asked: j.Operations}
		}
		r.Claims = append(r.Claims, one)
	}
	return r, nil
}

func verdictOf(name string) (check.Verdict, bool) {
	for _, v := range []check.Verdict{check.Holds, check.Unknown, check.Violated} {
		if v.String() == name {
			return v, true
		}
	}
	return check.Holds, false
}
