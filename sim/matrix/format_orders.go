package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"minikv/sim/check"
)

// ordersGroup is what running every order has shown of the claims of a row that
// have one bound.
type ordersGroup struct {
	row       int
	bound     string
	claims    int
	schedules int
	most      int      // schedules of one claim
	random    bool     // not all of them, and none violates
	violated  []string // cells that do not hold
	open      []string // cells of which nothing can be said, and why
}

// ordersGroups groups the claims that should hold, by row and bound. Of those that
// cannot be run like this there is no group, but their number.
func ordersGroups(results []Result) (groups []*ordersGroup, without int) {
	for i := range results {
		r := &results[i]
		for _, c := range r.Claims {
			o := c.Orders
			switch {
			case o == nil:
				continue
			case o.World == "":
				without++
				continue
			}
			at := slices.IndexFunc(groups, func(g *ordersGroup) bool { return g.row == r.Row && g.bound == o.Bound })
			if at < 0 {
				at = len(groups)
				groups = append(groups, &ordersGroup{row: r.Row, bound: o.Bound})
			}
			g := groups[at]
			g.claims++
			g.schedules += o.Schedules
			g.most = max(g.most, o.Schedules)
			name := r.Profile + " " + r.Lock
			switch {
			case o.Violation != "":
				g.violated = append(g.violated, name)
			case o.NotFound():
				g.random = true
			case !o.Holds():
				g.open = append(g.open, name)
			}
		}
	}
	slices.SortStableFunc(groups, func(a, b *ordersGroup) int { return cmp.Compare(a.row, b.row) })
	return groups, without
}

// verdict says "none violates" only where every schedule of every claim was run.
func (g *ordersGroup) verdict() string {
	switch {
	case len(g.violated) > 0:
		return check.Violated.String() + ": " + strings.Join(g.violated, ", ")
	case len(g.open) > 0:
		return "not all were run, or no twin was seen: " + strings.Join(g.open, ", ")
	case g.random:
		return "none of these violates, which are not all"
	}
	return "none violates"
}

// OrdersMarkdown is what running every order has shown, as a table of Markdown; ""
// if it was not asked for.
func OrdersMarkdown(results []Result) string {
	groups, without := ordersGroups(results)
	if len(groups) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| row | bound | claims | schedules | most of a claim | |\n|---|---|---|---|---|---|\n")
	claims, schedules, all := 0, 0, 0
	for _, g := range groups {
		fmt.Fprintf(&b, "| %d | %s | %d | %d | %d | %s |\n", g.row, g.bound, g.claims, g.schedules, g.most, g.verdict())
		claims, schedules = claims+g.claims, schedules+g.schedules
		if !g.random {
			all += g.claims - len(g.open) - len(g.violated)
		}
	}
	fmt.Fprintf(&b, "\nEvery order: %d schedules for %d claims; %d hold in all of theirs. %d have no such world.\n",
		schedules, claims, all, without)
	return b.String()
}
