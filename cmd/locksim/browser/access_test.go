package browser

import (
	"os"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestNarrow: at 320 pixels nothing has to be scrolled sideways but the diagram.
func TestNarrow(t *testing.T) {
	v := visit(t, serve(t), 320)
	for _, path := range []string{"", "run/failover_before_replication", "run/clock_jump_breaks_redlock"} {
		var width int
		v.do(chromedp.Navigate(v.home+path), chromedp.Evaluate(`document.documentElement.scrollWidth`, &width))
		require.LessOrEqual(t, width, 320, path)
	}
}

// TestAxe: axe-core finds nothing serious.
func TestAxe(t *testing.T) {
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Skip("there is no axe-core: npm ci in cmd/locksim/browser")
	}
	v := visit(t, serve(t), 1280)
	for _, path := range []string{"", "run/failover_before_replication#event=45", "lesson/1"} {
		var found []string
		v.do(chromedp.Navigate(v.home+path), chromedp.Evaluate(string(axe), nil),
			chromedp.Evaluate(`axe.run().then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
				.map((v) => v.id + ': ' + v.nodes.map((n) => n.html + ' ' + n.failureSummary).join('; ')))`, &found,
				func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		require.Empty(t, found, path)
	}
}
