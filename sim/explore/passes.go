package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/sim"
)

// passes are the ways in which a story becomes shorter, in the order in which
// they are tried: faults, operations, clients and servers, options, times.
var passes = []func(*shrinker){
	(*shrinker).fewerSteps,
	(*shrinker).oneRound,
	(*shrinker).soonerEnd,
	(*shrinker).fewerClients,
	(*shrinker).fewerServers,
	(*shrinker).plainOptions,
	(*shrinker).fewerLinks,
	(*shrinker).sooner,
	(*shrinker).roundTimes,
	(*shrinker).plainSeed,
}

// fewerSteps leaves out chunks of steps, then single ones.
func (s *shrinker) fewerSteps() {
	for size := max(1, len(s.story().Steps)/2); size > 0; size /= 2 {
		for i := 0; i+size <= len(s.story().Steps); {
			if !s.trySteps(slices.Delete(slices.Clone(s.story().Steps), i, i+size)) {
				i += size
			}
		}
	}
}

// oneRound has each client do only what it did last before the violation, at
// the time at which it began that.
func (s *shrinker) oneRound() {
	last := map[string]time.Duration{}
	for _, a := range s.best.asked {
		last[a.client] = a.at
	}
	c, err := s.story().With("rounds", "1")
	if err != nil {
		return
	}
	c.Steps = slices.DeleteFunc(slices.Clone(c.Steps), func(step sim.Step) bool { return step.Verb == "start" })
	for i := range c.World.Clients {
		name := fmt.Sprintf("c%d", i+1)
		if at, ok := last[name]; ok {
			c.Steps = append(c.Steps, sim.Step{At: at, Verb: "start", Args: []string{name}})
		}
	}
	inOrder(c.Steps)
	if s.try(c) || s.tryOption("rounds", "1") || s.place(c) || s.place(fromTheFirst(c)) {
		return
	}
	s.fewer("rounds", 2, mostRounds+1)
}

// mostRounds is how many rounds are tried where one is not enough.
const mostRounds = 3

// fromTheFirst has each fault strike the first message, and not one that comes after
// those of rounds that are no more.
func fromTheFirst(s *sim.Scenario) *sim.Scenario {
	c := *s
	c.Steps = slices.Clone(s.Steps)
	for i := range c.Steps {
		isAfter := func(o sim.Option) bool { return o.Name == "after" }
		c.Steps[i].Opts = slices.DeleteFunc(slices.Clone(c.Steps[i].Opts), isAfter)
	}
	return &c
}

// placings is how many places for a fault are tried.
const placings = 60

// place tries a candidate with each of its faults elsewhere: after each step of
// the protocol in its run.
func (s *shrinker) place(c *sim.Scenario) bool {
	o := s.look(c)
	if o == nil {
		return false
	}
	for i, step := range c.Steps {
		if step.Verb == "start" {
			continue
		}
		for _, at := range o.steps[:min(len(o.steps), placings)] {
			moved := *c
			moved.Steps = slices.Clone(c.Steps)
			moved.Steps[i].At = at + 10*time.Microsecond
			inOrder(moved.Steps)
			if s.try(&moved) {
				return true
			}
		}
	}
	return false
}

// inOrder sorts steps by their times.
func inOrder(steps []sim.Step) {
	slices.SortStableFunc(steps, func(a, b sim.Step) int { return int(max(-1, min(a.At-b.At, 1))) })
}

// soonerEnd ends the run soon after the violation, on a full second or a tenth.
func (s *shrinker) soonerEnd() {
	for _, unit := range []time.Duration{time.Second, 100 * time.Millisecond} {
		end := s.best.at.Truncate(unit) + unit
		if end < s.story().For && (unit == time.Second || s.best.at < time.Second) {
			c := *s.story()
			c.For = end
			c.Steps = slices.DeleteFunc(slices.Clone(c.Steps), func(step sim.Step) bool { return step.At > end })
			s.try(&c)
		}
	}
}

// fewerClients gives the clients that the story names the first numbers, and
// leaves out the others.
func (s *shrinker) fewerClients() {
	story := s.story()
	var used []int
	for n := 1; n <= story.World.Clients; n++ {
		if slices.ContainsFunc(story.Steps, func(step sim.Step) bool { return mentions(step, fmt.Sprintf("c%d", n)) }) {
			used = append(used, n)
		}
	}
	if len(used) == 0 || len(used) == story.World.Clients {
		return
	}
	c := *story
	c.Steps = slices.Clone(story.Steps)
	for to, from := range used {
		for i := range c.Steps {
			c.Steps[i] = renamed(c.Steps[i], fmt.Sprintf("c%d", from), fmt.Sprintf("c%d", to+1))
		}
	}
	fewer, err := c.With("clients", strconv.Itoa(len(used)))
	if err != nil || !s.try(fewer) {
		s.tryOption("clients", strconv.Itoa(used[len(used)-1]))
	}
}

// mentions reports whether a step names an actor.
func mentions(step sim.Step, name string) bool {
	return slices.ContainsFunc(step.Args, func(arg string) bool { return slices.Contains(strings.Split(arg, ","), name) })
}

// renamed is the step with another actor.
func renamed(step sim.Step, from, to string) sim.Step {
	step.Args = slices.Clone(step.Args)
	for i, arg := range step.Args {
		names := strings.Split(arg, ",")
		for j := range names {
			if names[j] == from {
				names[j] = to
			}
		}
		step.Args[i] = strings.Join(names, ",")
	}
	return step
}

// fewerServers leaves servers out; of several masters three stay, so that a
// quorum remains one.
func (s *shrinker) fewerServers() {
	w := &s.story().World
	if w.Cluster {
		for n := range w.Replicas {
			if s.tryOption("cluster", fmt.Sprintf("%dx%d", w.Masters, n)) {
				break
			}
		}
		return
	}
	s.fewer("masters", min(3, w.Masters), w.Masters)
	for n := min(3, w.Masters); n < s.story().World.Masters; n++ {
		c := *s.story()
		c.Steps = mergedMasters(c.Steps, w.Masters, n)
		if fewer, err := c.With("masters", strconv.Itoa(n)); err == nil && s.try(fewer) {
			break
		}
	}
	s.fewer("replicas", 0, w.Replicas)
}

// mergedMasters are the steps for n masters instead of all: of those to which the
// same happens fewer are left, about as large a part of n as they were of all.
func mergedMasters(steps []sim.Step, all, n int) []sim.Step {
	var fates []string // the lines that name a master, for each sort of them
	alike := map[string][]string{}
	for m := 1; m <= all; m++ {
		name, fate := fmt.Sprintf("m%d", m), ""
		for i, step := range steps {
			if mentions(step, name) {
				fate += fmt.Sprint(i, " ")
			}
		}
		if alike[fate] == nil {
			fates = append(fates, fate)
		}
		alike[fate] = append(alike[fate], name)
	}
	left := map[string]string{} // the new name of each that is left
	for _, fate := range fates {
		names := alike[fate]
		for _, name := range names[:max(1, (len(names)*n+all/2)/all)] {
			left[name] = fmt.Sprintf("m%d", len(left)+1)
		}
	}
	steps = slices.Clone(steps)
	for i := range steps {
		steps[i].Args = slices.Clone(steps[i].Args)
		for j, arg := range steps[i].Args {
			var there []string
			for _, name := range strings.Split(arg, ",") {
				if name[0] != 'm' {
					there = append(there, name)
				} else if left[name] != "" {
					there = append(there, left[name])
				}
			}
			steps[i].Args[j] = strings.Join(there, ",")
		}
	}
	return steps
}

// fewer tries a number from lo up, instead of n.
func (s *shrinker) fewer(option string, lo, n int) {
	for lo < n && !s.tryOption(option, strconv.Itoa(lo)) {
		lo++
	}
}

// incidental are the options of a world line that are not the question itself.
var incidental = []string{"scales", "delay", "lag", "hold", "think", "per-lock", "cancel", "reenter", "wait"}

// plainOptions leaves out options of the world line, and makes ranges numbers.
func (s *shrinker) plainOptions() {
	for _, o := range slices.Clone(s.story().World.Words) {
		if !slices.Contains(incidental, o.Name) || s.tryOption(o.Name, "") {
			continue
		}
		if lo, hi, ranged := strings.Cut(o.Value, ".."); ranged && !s.tryOption(o.Name, lo) {
			s.tryOption(o.Name, hi)
		}
	}
	for _, name := range []string{"delay", "lag"} {
		if !slices.ContainsFunc(s.story().World.Words, func(o sim.Option) bool { return o.Name == name }) {
			s.tryOption(name, "1ms")
		}
	}
}

// fewerLinks cuts fewer links with each partition, and drops options.
func (s *shrinker) fewerLinks() {
	for i := range s.story().Steps {
		for j := range s.story().Steps[i].Args {
			for _, name := range strings.Split(s.story().Steps[i].Args[j], ",") {
				isIt := func(n string) bool { return n == name }
				rest := slices.DeleteFunc(strings.Split(s.story().Steps[i].Args[j], ","), isIt)
				if len(rest) > 0 {
					s.changeStep(i, func(step *sim.Step) {
						step.Args = slices.Clone(step.Args)
						step.Args[j] = strings.Join(rest, ",")
					})
				}
			}
		}
		drawn := s.story().Steps[i].Fault != ""
		for _, o := range s.story().Steps[i].Opts {
			if o.Name == "data" && o.Value != "keep" || drawn && (o.Name == "what" || o.Name == "way") {
				continue // without it, it is another kind of fault: a crash that loses nothing, any message, both ways
			}
			s.changeStep(i, func(step *sim.Step) {
				step.Opts = slices.DeleteFunc(slices.Clone(step.Opts), func(other sim.Option) bool { return other == o })
			})
		}
	}
}

// changeStep tries the story with one step changed.
func (s *shrinker) changeStep(i int, change func(*sim.Step)) bool {
	steps := slices.Clone(s.story().Steps)
	change(&steps[i])
	return s.trySteps(steps)
}

// gaps are how long it may take from one step to the next, at best.
var gaps = []time.Duration{
	0, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute,
}

// sooner brings steps nearer to what comes before them.
func (s *shrinker) sooner() {
	for i := range s.story().Steps {
		for _, gap := range gaps {
			steps := slices.Clone(s.story().Steps)
			before := time.Duration(0)
			if i > 0 {
				before = steps[i-1].At
			}
			by := steps[i].At - before - gap
			if by <= 0 {
				break
			}
			for j := i; j < len(steps); j++ {
				steps[j].At -= by
			}
			if s.trySteps(steps) {
				break
			}
		}
	}
}

// roundTimes gives times and durations fewer digits.
func (s *shrinker) roundTimes() {
	for i := range s.story().Steps {
		s.roundTime(i)
		for j, o := range s.story().Steps[i].Opts {
			s.roundOption(i, j, o)
		}
	}
}

func (s *shrinker) roundTime(i int) {
	at := s.story().Steps[i].At
	for _, d := range rounder(at) {
		c := slices.Clone(s.story().Steps)
		c[i].At = d
		inOrder(c)
		if s.trySteps(c) {
			return
		}
	}
}

// roundOption rounds an option that is a duration, perhaps with a sign.
func (s *shrinker) roundOption(i, j int, o sim.Option) {
	text, sign := o.Value, ""
	if strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		sign, text = text[:1], text[1:]
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return
	}
	list := rounder(d)
	if sim.DurationText(d) != text {
		list = append(list, d) // 2m for 2m0s
	}
	for _, r := range list {
		if s.changeStep(i, func(step *sim.Step) {
			step.Opts = slices.Clone(step.Opts)
			step.Opts[j].Value = sign + sim.DurationText(r)
		}) {
			return
		}
	}
}

// units are what times are rounded to, the roundest first.
var units = []time.Duration{
	time.Minute, 30 * time.Second, 10 * time.Second, 5 * time.Second, time.Second, 500 * time.Millisecond,
	100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond, 100 * time.Microsecond,
}

// rounder are durations with fewer digits than d and not much longer, the roundest
// first.
func rounder(d time.Duration) (list []time.Duration) {
	for _, unit := range units {
		low := d.Truncate(unit)
		if low == d {
			return list // d is as round as what would follow
		}
		for _, round := range []time.Duration{low, low + unit} {
			if round <= 2*d && !slices.Contains(list, round) {
				list = append(list, round)
			}
		}
	}
	return list
}

// plainSeed tries seeds that are easy to read.
func (s *shrinker) plainSeed() {
	for seed := uint64(1); seed <= 3 && s.story().Seed > seed; seed++ {
		c := *s.story()
		c.Seed = seed
		if s.try(&c) {
			return
		}
	}
}
