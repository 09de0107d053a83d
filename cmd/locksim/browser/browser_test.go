package browser

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// serve builds locksim, serves its pages and returns their address.
func serve(t *testing.T) string {
	binary := filepath.Join(t.TempDir(), "locksim")
	out, err := exec.Command("go", "build", "-o", binary, "minikv/cmd/locksim").CombinedOutput()
	require.NoError(t, err, string(out))
	ctx, stop := context.WithCancel(t.Context())
	command := exec.CommandContext(ctx, binary, "serve")
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		stop()
		_ = command.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return strings.Fields(line)[2]
}

// visitor is a browser that looks at one server's pages.
type visitor struct {
	t    *testing.T
	ctx  context.Context
	home string

	mu     sync.Mutex
	faults []string // errors in the console, and requests that left the server
}

// visit opens a browser with a window of a width. It skips the test without one.
func visit(t *testing.T, home string, width int) *visitor {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox,
		chromedp.WindowSize(width, 900), chromedp.Flag("force-prefers-reduced-motion", true))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(stop)
	v := &visitor{t: t, ctx: ctx, home: home}
	chromedp.ListenTarget(ctx, v.listen)
	v.do(network.Enable(), log.Enable(), chromedp.EmulateViewport(int64(width), 900))
	t.Cleanup(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		require.Empty(t, v.faults)
	})
	return v
}

func (v *visitor) listen(event any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		v.faults = append(v.faults, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case *log.EventEntryAdded:
		v.faults = append(v.faults, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, v.home) && !strings.HasPrefix(e.Request.URL, "data:") {
			v.faults = append(v.faults, "a request to "+e.Request.URL)
		}
	}
}

func (v *visitor) do(actions ...chromedp.Action) {
	v.t.Helper()
	require.NoError(v.t, chromedp.Run(v.ctx, actions...))
}

// sees waits until an element has a text.
func (v *visitor) sees(selector, text string) {
	v.t.Helper()
	var now string
	require.Eventually(v.t, func() bool {
		_ = chromedp.Run(v.ctx, chromedp.Evaluate(`document.querySelector('`+selector+`')?.textContent ?? ''`, &now))
		return strings.Contains(now, text)
	}, 30*time.Second, 50*time.Millisecond, "%s has no %q", selector, text)
}

// TestByMouse: from the list to the violation, back, the why, and another run.
func TestByMouse(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.do(chromedp.Navigate(v.home), chromedp.Click(`a[href^="/run/failover_before_replication?"]`, chromedp.ByQuery))
	v.sees(".verdicts", "exclusion violated")
	v.do(chromedp.Click("#play", chromedp.ByQuery))
	v.sees("#event", "c2 holds lock:1")
	v.sees("#play", "Play")
	v.sees("#announce", "c1 and c2 believe to hold")
	v.do(chromedp.Click("#back", chromedp.ByQuery))
	v.sees("#event", "#44 c2 receives from r1")
	v.do(chromedp.Click(".why li:nth-child(3) button", chromedp.ByQuery))
	v.sees("#event", "m1 crashes")
	v.do(chromedp.SetValue("#number", "14", chromedp.ByQuery),
		chromedp.Evaluate(`document.getElementById('number').dispatchEvent(new Event('change'))`, nil))
	v.sees("#event", "#14 m1 sends to c1")
	v.do(chromedp.Click("#branch button", chromedp.ByQuery))
	v.sees("h1", "failover_before_replication, branched")
	v.sees(".verdicts", "exclusion holds")
	v.sees("#event", "#14 m1 sends to c1")
}

// TestByKeyboard: the same without a mouse.
func TestByKeyboard(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.do(chromedp.Navigate(v.home + "run/failover_before_replication"))
	v.sees("#event", "#1 ")
	v.do(chromedp.KeyEvent(" "))
	v.sees("#event", "c2 holds lock:1")
	v.do(chromedp.KeyEvent("["))
	v.sees("#event", "#44 ")
	v.do(chromedp.KeyEvent("]"))
	v.sees("#event", "#45 ")
	v.do(chromedp.KeyEvent(kb.Home))
	for range 13 {
		v.do(chromedp.KeyEvent(kb.ArrowRight))
	}
	v.sees("#event", "#14 ")
	v.do(chromedp.KeyEvent("b"), chromedp.KeyEvent(kb.Enter))
	v.sees("h1", "branched")
	v.sees(".verdicts", "exclusion holds")
}

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

// TestHostileTrace: what keys, values and names say is shown, and not executed; the
// page works from disk.
func TestHostileTrace(t *testing.T) {
	evil := `<img src=x onerror=alert(1)></script><script>alert(2)</script>\u0000\u001b[31m\u202e`
	dir := t.TempDir()
	events, html := filepath.Join(dir, "evil.jsonl"), filepath.Join(dir, "evil.html")
	require.NoError(t, os.WriteFile(events, []byte(`{"n":1,"t":1,"actor":"c1","kind":"acquire","lock":1,"key":"`+evil+`"}
{"n":2,"t":2,"actor":"m1","kind":"execute","peer":"c1","cause":1,"text":"`+evil+`",`+
		`"details":[{"what":"call","text":"`+evil+`","reply":"`+evil+`"},`+
		`{"what":"changed","key":"`+evil+`","text":"`+evil+`"}]}
{"n":3,"t":3,"actor":"`+evil+`","kind":"hold","lock":1,"key":"`+evil+`"}
`), 0o600))
	out, err := exec.Command("go", "run", "minikv/cmd/locksim", "page", events, "--html", html).CombinedOutput()
	require.NoError(t, err, string(out))
	v := visit(t, "file://"+dir, 1280)
	v.do(chromedp.Navigate("file://" + html + "#event=2"))
	v.sees("#event", "<img src=x onerror=alert(1)></script><script>alert(2)</script>␀␛[31m⟨202e⟩")
	v.sees("#keys", "<script>alert(2)")
	v.sees("#did", "<script>alert(2)")
	var images int
	v.do(chromedp.Evaluate(`document.querySelectorAll('img').length`, &images))
	require.Zero(t, images)
}

// TestLongRun: a run of 9,158 events opens, and scrubbing is smooth.
func TestLongRun(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.do(chromedp.Navigate(v.home + "run/failover_forgets_scripts_not_locks"))
	v.sees("#event", "#1 ")
	var opened float64
	var slowest []float64
	v.do(chromedp.Evaluate(`performance.getEntriesByType('navigation')[0].domComplete -
			performance.getEntriesByType('navigation')[0].responseEnd`, &opened),
		chromedp.Evaluate(`(() => {
			const times = [];
			for (let k = 0; k < total; k += 90) {
				const from = performance.now();
				go(k);
				paint();
				times.push(performance.now() - from);
			}
			return times.sort((a, b) => a - b);
		})()`, &slowest))
	t.Logf("opened in %.0f ms; a step takes %.1f ms, at most %.1f ms", opened, slowest[len(slowest)/2],
		slowest[len(slowest)-1])
	require.Less(t, slowest[len(slowest)/2], 50.0, "milliseconds that half of the steps take")
}
