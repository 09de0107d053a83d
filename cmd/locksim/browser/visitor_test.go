package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// locksim is the program under test.
var locksim string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "locksim")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		if locksim, err = Build(dir); err == nil {
			return m.Run()
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// serve serves locksim's pages and returns their address.
func serve(t *testing.T) string {
	ctx, stop := context.WithCancel(t.Context())
	home, wait, err := Serve(ctx, locksim)
	require.NoError(t, err)
	t.Cleanup(func() {
		stop()
		_ = wait()
	})
	return home
}

// saved runs locksim with --html, and returns the address of the file.
func saved(t *testing.T, args ...string) string {
	file := filepath.Join(t.TempDir(), "page.html")
	out, err := exec.Command(locksim, append(args, "--html", file)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return "file://" + file
}

// visitor is a browser that looks at one server's pages, or at a file.
type visitor struct {
	t    *testing.T
	ctx  context.Context
	home string

	mu       sync.Mutex
	faults   []string // errors in the console, and requests that left the server
	expected string   // part of an error that is none here; "": there is no such
}

// visit opens a browser with a window of a width. It skips the test without one.
func visit(t *testing.T, home string, width int) *visitor {
	tab, closeTab, err := Open(t.Context(), width, 900)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(closeTab)
	ctx, stop := context.WithTimeout(tab, 4*time.Minute)
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
		v.faults = append(v.faults, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		v.faults = append(v.faults, fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		if v.expected == "" || !strings.Contains(e.Entry.Text, v.expected) {
			v.faults = append(v.faults, e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, v.home) && !strings.HasPrefix(e.Request.URL, "data:") {
			v.faults = append(v.faults, "a request to "+e.Request.URL)
		}
	}
}

// expects takes an error in the console for what it should be.
func (v *visitor) expects(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expected = text
}

func (v *visitor) do(actions ...chromedp.Action) {
	v.t.Helper()
	require.NoError(v.t, chromedp.Run(v.ctx, actions...))
}

// opens goes to a page and waits until it shows its first event, if it shows any.
func (v *visitor) opens(address string) {
	v.t.Helper()
	v.do(chromedp.Navigate(address))
	v.until(`document.readyState === 'complete' &&
		(!document.getElementById('event') || document.getElementById('event').textContent !== '')`)
}

// asks evaluates an expression, and waits for its promise.
func (v *visitor) asks(expression string, result any) {
	v.t.Helper()
	v.do(chromedp.Evaluate(expression, result,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
}

// patience is how long a slow machine may take for something that is quick elsewhere.
const patience = time.Minute

// until waits for a condition.
func (v *visitor) until(condition string) {
	v.t.Helper()
	is := false
	require.Eventually(v.t, func() bool {
		_ = chromedp.Run(v.ctx, chromedp.Evaluate(condition, &is))
		return is
	}, patience, 50*time.Millisecond, condition)
}

// sees waits until an element has a text.
func (v *visitor) sees(selector, text string) {
	v.t.Helper()
	var now string
	require.Eventually(v.t, func() bool {
		_ = chromedp.Run(v.ctx, chromedp.Evaluate(`document.querySelector('`+selector+`')?.textContent ?? ''`, &now))
		return strings.Contains(now, text)
	}, patience, 50*time.Millisecond, "%s has no %q", selector, text)
}

// clicks is the mouse. A page that draws an element anew between two looks at it is
// looked at again: it was not clicked yet.
func (v *visitor) clicks(selector string) {
	v.t.Helper()
	var err error
	require.Eventually(v.t, func() bool {
		err = chromedp.Run(v.ctx, chromedp.Click(selector, chromedp.ByQuery))
		var refused *cdproto.Error
		return !errors.As(err, &refused) || refused.Message != "Could not find node with given id"
	}, patience, 50*time.Millisecond, selector)
	require.NoError(v.t, err, selector)
}

// presses is the keyboard.
func (v *visitor) presses(keys ...string) {
	v.t.Helper()
	for _, key := range keys {
		v.do(chromedp.KeyEvent(key))
	}
}

// tabsTo presses Tab until an element has the focus, as a reader without a mouse does.
func (v *visitor) tabsTo(selector string) {
	v.t.Helper()
	for range 400 {
		there := false
		v.asks("document.activeElement.matches(`"+selector+"`)", &there)
		if there {
			return
		}
		v.presses(kb.Tab)
	}
	v.t.Fatalf("Tab does not lead to %s", selector)
}
